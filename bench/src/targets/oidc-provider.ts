// Serves oidc-provider with its own adapter, which stores everything in memory, so that auth can be compared with it.
import { serveProvider } from './provider-server.ts';
import { tokenPeerOptions } from './token-peer.ts';

await serveProvider(tokenPeerOptions());
