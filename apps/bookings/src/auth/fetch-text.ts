// Fetches a document from the authorization server with a timeout and a maximum length.

const maxResponseBytes = 1_000_000;

export async function fetchText(uri: string, timeout: number): Promise<string> {
  const signal = AbortSignal.timeout(timeout);
  const request = () => fetch(uri, { signal, redirect: 'error' });
  // When an instance of auth stops, its connections break. Another instance may respond to the second attempt.
  const response = await request().catch((error: unknown) => (signal.aborted ? Promise.reject(error) : request()));
  if (!response.ok) throw new Error(`${uri} returned status ${response.status}`);
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.length > maxResponseBytes) throw new Error(`${uri} returned more than ${maxResponseBytes} bytes`);
  }
  return text;
}
