// Starts the embedded server, prints its address, and runs until this program is stopped or killed. The tests run this
// program in place of the launcher of `npm start`.
import { startEmbeddedPostgres } from '../src/server.ts';

// The argument contains options of `startEmbeddedPostgres` in JSON.
const [options] = process.argv.slice(2);
try {
  // The tests need no data that survives a crash of the machine, so `fsync` is off by default.
  const progress: string[] = [];
  const onProgress = (line: string) => progress.push(line);
  const server = await startEmbeddedPostgres({ fsync: false, onProgress, ...JSON.parse(options ?? '') });
  process.on('SIGTERM', async () => {
    await server.stop();
    process.exit(0);
  });
  // The timer keeps this program running.
  setInterval(() => {}, 60_000);
  // The line is printed last, because the test may send a signal as soon as it has read the line.
  const { url, dataPath, port } = server;
  process.stdout.write(`${JSON.stringify({ url, dataPath, port, progress })}\n`);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: (error as Error).message })}\n`);
  process.exit(1);
}
