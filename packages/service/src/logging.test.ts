// Tests the format of log lines, and that they contain no secrets.
import { expect, test } from '@jest/globals';
import { createLogger } from './logging.ts';

function createTestLogger() {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { logger: createLogger({ service: 'test', level: 'info', destination }), lines };
}

test('a line is one JSON object with the level, the time, the service and the logged fields', () => {
  const { logger, lines } = createTestLogger();
  logger.info({ a: 1 }, 'hello');
  const line = JSON.parse(lines[0] ?? '');
  expect(line).toMatchObject({ level: 'info', service: 'test', a: 1, msg: 'hello' });
  expect(Date.parse(line.time)).not.toBeNaN();
});

test.each([
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'client_secret',
  'access_token',
  'refresh_token',
  'code',
])('a field named %s is redacted at the top level of a line and one level below', (key) => {
  const { logger, lines } = createTestLogger();
  logger.info({ [key]: 'tell-tale', body: { [key]: 'tell-tale' } }, 'x');
  expect(lines.join()).not.toContain('tell-tale');
});

test('an error is logged with its message, code and cause, and without the rows that PostgreSQL quotes', () => {
  const { logger, lines } = createTestLogger();
  // PostgreSQL quotes values of rows in `detail` and `where`.
  const failure = Object.assign(new Error('conflict', { cause: new Error('inner') }), {
    code: '23P01',
    detail: 'Key (tell-tale)',
    where: 'tell-tale',
  });
  logger.error({ err: failure }, 'x');
  const line = JSON.parse(lines[0] ?? '');
  // The code is logged as `errorCode`, because a field named `code` would be redacted.
  expect(line.err).toMatchObject({ message: 'conflict', errorCode: '23P01', cause: { message: 'inner' } });
  expect(lines.join()).not.toContain('tell-tale');
});
