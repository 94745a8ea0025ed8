// Tests which values of the Host header a service accepts that listens on loopback only.
import type { RequestListener } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { serviceListeners } from '../src/http/listeners.ts';
import { createMetrics } from '../src/metrics.ts';

function startedWith(host: string | undefined) {
  const app = express().get('/', (_request, response) => void response.send('served'));
  return serviceListeners({
    name: 'test',
    app,
    respondToMalformed: (status) => ({ headers: { 'Content-Type': 'text/plain' }, body: `rejected: ${status}` }),
    publicUrl: 'https://id.example.com',
    metrics: createMetrics('test'),
    config: { port: 0, metricsPort: 9000, host },
  }).map(({ handler }) => handler) as [RequestListener, RequestListener];
}

describe.each(['127.0.0.1', 'localhost', '::1'])('a service that listens on %s', (listensOn) => {
  const [main, metrics] = startedWith(listensOn);

  test.each([
    'localhost',
    'localhost:4000',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]:4000',
    'id.example.com',
    'ID.example.com:80',
  ])('serves requests with the Host %s', async (host) => {
    expect((await request(main).get('/').set('Host', host)).text).toBe('served');
    expect((await request(metrics).get('/metrics').set('Host', host)).status).toBe(200);
  });

  test.each([
    'evil.example',
    'evil.example:4000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    'a b',
  ])('returns 421 for the Host %s', async (host) => {
    const response = await request(main).get('/').set('Host', host);
    expect([response.status, response.text]).toEqual([421, 'rejected: 421']);
    expect((await request(metrics).get('/metrics').set('Host', host)).status).toBe(421);
  });
});

test.each([undefined, '0.0.0.0', '::', '10.1.2.3'])('a service with HOST=%s serves every Host', async (listensOn) => {
  const [main] = startedWith(listensOn);
  expect((await request(main).get('/').set('Host', 'any.example')).text).toBe('served');
});
