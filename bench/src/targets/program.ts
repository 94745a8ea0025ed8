// Reads the settings of a target program, and ends the program together with the benchmark.

type PeerSetting = 'databaseUrl' | 'jwksUri' | 'issuer' | 'audience' | 'scope' | 'baseUrl';
export type PeerOptions = Readonly<Record<PeerSetting, string> & { port: number }>;

/** Returns the settings, which the benchmark passes as one argument in JSON. */
export const programOptions = <Options = PeerOptions>(): Options => JSON.parse(process.argv[2] ?? '{}') as Options;

export function endWithParent(): void {
  process.once('SIGTERM', () => process.exit(0));
  // The channel to the benchmark closes when the benchmark ends. The channel alone must not keep this process running.
  process.once('disconnect', () => process.exit(0));
  process.channel?.unref();
}
