// Where are the migrations of this service?
import { fileURLToPath } from 'node:url';

export const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
