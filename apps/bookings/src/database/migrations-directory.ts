// The directory of this service's migrations.

export const migrationsDirectory = `${import.meta.dirname}/../../migrations`;
