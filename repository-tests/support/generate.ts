// Writes the generated file of infra/kubernetes. `npm run generate -w repository-tests` runs this command.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@bay-booking/testkit/repository';
import { prometheusRule, ruleFile } from './prometheus-rule.ts';

writeFileSync(join(root, ruleFile), prometheusRule());
