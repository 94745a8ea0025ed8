// Reads the rights of the client's access token.
import type { RequestOptions, Send } from '../operations.ts';
import type { Me } from '../schemas.ts';

export const createMe =
  (send: Send) =>
  async (options?: RequestOptions): Promise<Me> =>
    (await send('getMe', { ...options })).data;
