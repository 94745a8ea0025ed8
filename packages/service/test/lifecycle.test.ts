// Tests how the process of a service starts, and how it stops after a signal or when its parent process disconnects.
import { once } from 'node:events';
import { connect } from 'node:net';
import { type RunningProcess, startProcess } from '@bay-booking/testkit/process';
import { afterEach, describe, expect, test } from '@jest/globals';

const lifecycle = new URL('../src/lifecycle.ts', import.meta.url).pathname;
const logging = new URL('../src/logging.ts', import.meta.url).pathname;

/**
 * The source of a service that responds to requests only when the test writes to its standard input. `process.argv[1]`
 * is its first argument, because `node -e` runs no file.
 */
const program = `
  import { runService, serve } from ${JSON.stringify(lifecycle)};
  import { createLogger } from ${JSON.stringify(logging)};
  const waiting = [];
  process.stdin.on('data', () => { for (const response of waiting.splice(0)) response.end('done'); });
  const handler = (request, response) => { waiting.push(response); console.log('{"msg":"in flight"}'); };
  runService(() => serve({
    logger: createLogger({ service: 'test', level: 'info' }),
    listeners: [{ name: 'http', handler, port: Number(process.argv[1] ?? 0) }],
    close: async () => { console.log('{"msg":"closed"}'); process.stdin.destroy(); },
  }));
`;

/** The source of a service that never finishes its start. The timer keeps the process running. */
const startingProgram = `
  import { runService } from ${JSON.stringify(lifecycle)};
  runService(() => new Promise(() => { setInterval(() => {}, 1000); console.log('starting'); }));
`;

const processes: RunningProcess[] = [];
afterEach(() => {
  for (const { child } of processes.splice(0)) child.kill('SIGKILL');
});

function start(source: string, { args = [], ipc = false }: { args?: readonly string[]; ipc?: boolean } = {}) {
  const started = startProcess(process.execPath, ['--input-type=module', '-e', source, ...args], {
    stdio: ['pipe', 'pipe', 'pipe', ...(ipc ? ['ipc' as const] : [])],
  });
  processes.push(started);
  return started;
}

async function startService({ ipc = false } = {}) {
  const service = start(program, { ipc });
  const [, port] = await service.untilPrinted(/"port":(\d+).*listening/);
  return {
    ...service,
    port: Number(port),
    request: () => fetch(`http://127.0.0.1:${port}/`),
    /** Makes the service respond to the requests in flight. */
    respond: () => service.child.stdin?.write('go\n'),
  };
}

describe('SIGTERM', () => {
  test('stops accepting, finishes requests in flight despite later signals, closes resources, exits with 0', async () => {
    const { child, untilPrinted, ended, request, respond } = await startService();
    const requestInFlight = request();
    await untilPrinted(/in flight/);
    child.kill('SIGTERM');
    await untilPrinted(/stopping/);
    child.kill('SIGTERM');
    child.kill('SIGINT');
    await expect(request()).rejects.toThrow();
    respond();
    const response = await requestInFlight;
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.text()).toBe('done');
    await untilPrinted(/closed/);
    expect(await ended).toBe(0);
  });

  test('closes a connection that has sent nothing, and an idle keep-alive connection', async () => {
    const { child, port, untilPrinted, ended, request, respond } = await startService();
    const requestInFlight = request();
    await untilPrinted(/in flight/);
    respond();
    await (await requestInFlight).text();
    const connection = connect(port, '127.0.0.1');
    await once(connection, 'connect');
    child.kill('SIGTERM');
    await once(connection, 'close');
    expect(await ended).toBe(0);
  }, 10_000);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a service that is still starting with exit code 0',
  async (signal) => {
    const service = start(startingProgram);
    await service.untilPrinted(/starting/);
    expect(await service.stop(signal)).toBe(0);
  },
);

test('a service stops when its parent process closes the IPC channel', async () => {
  const { child } = await startService({ ipc: true });
  // After `disconnect`, Node.js emits no event `close`, for which `ended` waits.
  const exited = once(child, 'exit');
  child.disconnect();
  expect(await exited).toEqual([0, null]);
});

test('a service whose port is in use prints one line and exits with code 1', async () => {
  const { port } = await startService();
  const second = start(program, { args: [String(port)] });
  expect({ code: await second.ended, errors: second.errors() }).toEqual({ code: 1, errors: `port ${port} is taken\n` });
});
