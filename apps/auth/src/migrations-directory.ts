// The directory that contains the migrations of auth.

export const migrationsDirectory = `${import.meta.dirname}/../migrations`;
