// Where are the migrations of this service?

export const migrationsDirectory = `${import.meta.dirname}/../../migrations`;
