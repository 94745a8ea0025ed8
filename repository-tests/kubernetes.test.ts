// Validates the Kubernetes manifests against the schemas of the Kubernetes API, and compares them with the code and the
// configuration of the services.
import { join } from 'node:path';
import { findFiles, read } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { parse, parseAllDocuments } from 'yaml';
import { type Document, variablesOf } from './support/infrastructure.ts';

describe('Kubernetes', () => {
  /** For each kind of manifest, the class that validates it. The cast is needed because the classes differ in type. */
  const models: Record<string, new (document: Document) => { validate(): void }> = {
    CronJob,
    Deployment,
    HorizontalPodAutoscaler,
    Ingress,
    Job,
    NetworkPolicy,
    PodDisruptionBudget,
    Service,
    ServiceAccount,
  } as never;
  const files = findFiles('infra/kubernetes/**/*.yaml');
  const documents = files.flatMap((file) =>
    parseAllDocuments(read(file)).map((parsed) => {
      expect(parsed.errors).toEqual([]);
      return { file, document: parsed.toJS() as Document };
    }),
  );
  const documentsOfKind = (kind: string) =>
    documents.map(({ document }) => document).filter((found) => found.kind === kind);

  test('every manifest is valid for its API', () => {
    const withModel = documents.filter(({ document }) => document.kind in models);
    expect(withModel.length).toBeGreaterThan(15);
    for (const { document } of withModel) new (models[document.kind] as (typeof models)[string])(document).validate();
    // Kustomize and the Prometheus operator define these kinds, so there are no models for them.
    const withoutModel = documents.filter(({ document }) => !(document.kind in models));
    expect([...new Set(withoutModel.map(({ document }) => document.kind))].toSorted()).toEqual([
      'AlertmanagerConfig',
      'Component',
      'Kustomization',
      'PrometheusRule',
      'ServiceMonitor',
    ]);
  });

  test('the component for social sign-in can be applied to the manifest of auth', () => {
    const [{ patches }] = documentsOfKind('Component');
    expect(patches).toHaveLength(1);
    const [{ target, patch }] = patches;
    const auth = structuredClone(documentsOfKind('Deployment').find(({ metadata }) => metadata.name === target.name));
    const [container] = auth.spec.template.spec.containers;
    // The patch adds the whole list `env`, and would replace an existing list.
    expect(container.env).toBeUndefined();
    // Two operations of the JSON Patch append an element to a list: their paths end with the name of the list and `/-`.
    // The third operation adds the list `env`, which the container does not have yet.
    const added = Object.fromEntries(parse(patch).map(({ path, value }: Document) => [path.split('/').at(-2), value]));
    container.volumeMounts.push(added.volumeMounts);
    auth.spec.template.spec.volumes.push(added.volumes);
    const [variable] = parse(patch).find(({ path }: Document) => path.endsWith('/env')).value;
    new Deployment(auth).validate();
    expect(variablesOf('auth')).toContain(variable.name);
    expect(variable.value).toMatch(new RegExp(`^${added.volumeMounts.mountPath}/[^/]+$`));
  });

  test('the maximum number of instances, also during a rollout, needs fewer connections than PostgreSQL allows', () => {
    const base = documents.find(({ file }) => file.endsWith('base/kustomization.yaml'))?.document;
    let connections = 0;
    for (const { spec, metadata } of documentsOfKind('HorizontalPodAutoscaler')) {
      const [{ literals }] = base.configMapGenerator.filter(({ name }: Document) => name === metadata.name);
      const pool = literals.map((literal: string) => /^DB_POOL_MAX=(\d+)$/.exec(literal)?.[1]).find(Boolean);
      // A rollout starts one instance more than `maxReplicas`.
      connections += (spec.maxReplicas + 1) * Number(pool);
    }
    expect(connections).toBeGreaterThan(0);
    // PostgreSQL allows 100 connections by default. Ten of them are for commands and operators.
    expect(connections).toBeLessThanOrEqual(100 - 10);
  });

  test('every resource of a kustomization exists', () => {
    const kustomizations = documents.filter(({ document }) => document.kind === 'Kustomization');
    expect(kustomizations.length).toBeGreaterThan(2);
    for (const { file, document } of kustomizations) {
      for (const resource of document.resources) {
        const path = join(file, '..', resource);
        expect(findFiles(path, join(path, 'kustomization.yaml')).length).toBeGreaterThan(0);
      }
    }
  });

  // There is one of each kind for each of the two services.
  test.each([
    ['Deployment', 2],
    ['Job', 2],
    ['CronJob', 2],
  ])('a %s runs without privileges and with resource limits', (kind, count) => {
    // A CronJob has the specification of its pods inside `jobTemplate`.
    const pods = documentsOfKind(kind).map(({ spec }) => (spec.jobTemplate?.spec ?? spec).template.spec);
    expect(pods).toHaveLength(count);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of pod.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources.limits.memory).toBeDefined();
        expect(container.resources.requests.cpu).toBeDefined();
      }
    }
  });

  test('a Deployment has probes, a disruption budget and a Service, and a rollout stops no instance too early', () => {
    for (const { spec, metadata } of documentsOfKind('Deployment')) {
      const [container] = spec.template.spec.containers;
      const ports = container.ports.map((port: Document) => port.name);
      expect(container.livenessProbe.httpGet.path).toBe('/health/live');
      expect(container.readinessProbe.httpGet.path).toBe('/health/ready');
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        expect(ports).toContain(container[probe].httpGet.port);
      }
      // A service has 30 s to finish the requests in progress.
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
        30 + container.lifecycle.preStop.sleep.seconds,
      );
      expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
      const [budget] = documentsOfKind('PodDisruptionBudget').filter((found) => found.metadata.name === metadata.name);
      expect(budget.spec.selector).toEqual(spec.selector);
      const [service] = documentsOfKind('Service').filter((found) => found.metadata.name === metadata.name);
      expect(service.spec.selector).toEqual(spec.selector.matchLabels);
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      for (const port of service.spec.ports) expect(ports).toContain(port.targetPort);
    }
  });

  test('every variable in a config map is read by the service, and none is a secret', () => {
    // The base, staging and production each have two config maps, one for each service.
    const generated = documentsOfKind('Kustomization').flatMap(({ configMapGenerator = [] }) => configMapGenerator);
    expect(generated).toHaveLength(6);
    for (const { name, literals } of generated) {
      const variables = literals.map((literal: string) => literal.split('=')[0]);
      const known = variablesOf(name);
      expect(variables.filter((variable: string) => !known.has(variable))).toEqual([]);
      expect(
        variables.filter((variable: string) => /SECRET|KEY|PASSWORD|DATABASE_URL|SMTP_URL/.test(variable)),
      ).toEqual([]);
    }
  });

  test('the ingress logs no queries, which contain authorization codes', () => {
    // Staging and production each have two ingresses: one for auth, and one for bookings.
    const ingresses = documentsOfKind('Ingress');
    expect(ingresses).toHaveLength(4);
    for (const { metadata } of ingresses)
      expect(metadata.annotations).toMatchObject({ 'nginx.ingress.kubernetes.io/enable-access-log': 'false' });
  });

  test('all traffic is denied by default, and every pod has a policy with the traffic that it needs', () => {
    const policies = documentsOfKind('NetworkPolicy');
    const [deny] = policies.filter(({ metadata }) => metadata.name === 'default-deny');
    expect(deny.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    // Each pod has a label with the name of its workload, and exactly one policy selects this label.
    const selected = policies.flatMap(({ spec: { podSelector } }) => [
      ...Object.values<string>(podSelector.matchLabels ?? {}),
      ...(podSelector.matchExpressions ?? []).flatMap(({ values }: Document) => values),
    ]);
    const pods = ['Deployment', 'Job', 'CronJob'].flatMap(documentsOfKind).map(({ metadata }) => metadata.name);
    expect(selected.toSorted()).toEqual(pods.toSorted());
  });
});
