// Defines the path of the directory that contains the database migrations of auth.

export const migrationsDirectory = `${import.meta.dirname}/../migrations`;
