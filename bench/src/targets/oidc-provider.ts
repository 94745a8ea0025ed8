// Serves oidc-provider with its own adapter, which stores everything in memory. This is the peer `oidc-provider`.
import { serveProvider } from './provider-server.ts';
import { tokenPeerOptions } from './token-peer.ts';

await serveProvider(tokenPeerOptions());
