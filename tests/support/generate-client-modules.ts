// Writes the modules of packages/client that list the operations, the schemas and the error codes of openapi.json. `npm
// run generate -w tests` runs this command.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@bay-booking/testkit/repository';
import { generateClientModules } from './client-modules.ts';

for (const [file, text] of Object.entries(generateClientModules())) writeFileSync(join(root, file), text);
