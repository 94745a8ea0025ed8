// Checks that the alerts and dashboards use metrics that the services have, that every metric is documented, and that
// every alert has an entry in the runbook.
import { collectProcessMetrics, createMetrics } from '@bay-booking/service/metrics';
import { anchorsOf, findFiles, read } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type { Document } from './support/infrastructure.ts';
import { prometheusRule, ruleFile } from './support/prometheus-rule.ts';

/**
 * Returns the metrics of a PromQL expression: the words that contain `_` or `:` and are followed by `{`, `[`, `)`, `>`,
 * `=` or the end. Words before `(` are functions. Quoted texts and `by (…)` contain labels, and are removed first.
 */
const metricsOfExpression = (expression: string): readonly string[] => {
  const withoutLabels = expression.replace(/"[^"]*"|\bby \([^)]*\)/g, '');
  return [...withoutLabels.matchAll(/[a-z][\w:]*(_[a-z0-9]+|:\w+)\b(?=\s*[{[)>=]|$)/g)].map(([name]) => name);
};

/** Returns the metrics that a text names in the form `name{…}`. */
const metricsInText = (text: string): readonly string[] =>
  [...text.matchAll(/`(\w+_\w+)\{/g)].map((match) => match[1] as string);

/** Returns the names in the first column of the table of metrics. */
const metricsOfTable = (text: string): readonly string[] =>
  [...(/\| metric \|[\s\S]*?\n\n/.exec(text)?.[0] ?? '').matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map((match) => match[1] as string),
  );

describe('alerts and dashboards', () => {
  const rules: Document[] = parse(read('infra/prometheus/alerts.yml')).groups.flatMap((group: Document) => group.rules);
  const alerts = rules.filter((rule) => rule.alert);
  const dashboards = findFiles('infra/grafana/dashboards/*.json');

  test.each(alerts.map((rule) => [rule.alert, rule]))(
    'the alert %s has a severity and an entry in the runbook',
    (_, rule) => {
      const [file, anchor] = rule.annotations.runbook.split('#');
      expect(file).toBe('docs/operations/runbook.md');
      expect(anchorsOf(read(file))).toContain(anchor);
      expect(rule.labels.severity).toMatch(/^(page|ticket)$/);
    },
  );

  test('every alert has a test in infra/prometheus/alerts.test.yml', () => {
    const tests = read('infra/prometheus/alerts.test.yml');
    for (const { alert } of alerts) expect(tests).toContain(`alertname="${alert}"`);
  });

  test('the rules for Kubernetes are those of infra/prometheus/alerts.yml (`npm run generate` writes them)', () => {
    expect(read(ruleFile)).toBe(prometheusRule());
  });

  test('both examples of a route send pages and tickets to different receivers, and inhibit the same alerts', () => {
    const { route, receivers, inhibit_rules: rules } = parse(read('infra/prometheus/alertmanager.yml'));
    const { spec } = parse(read('infra/kubernetes/monitoring/route.yaml'));
    expect(spec.receivers.map(({ name }: Document) => name)).toEqual(receivers.map(({ name }: Document) => name));
    expect([spec.route.receiver, spec.route.routes[0].receiver]).toEqual([route.receiver, route.routes[0].receiver]);
    const matchers = rules.map((rule: Document) =>
      [...rule.source_matchers, ...rule.target_matchers].map((matcher: string) =>
        /^(\w+)=~?"(.*)"$/.exec(matcher)?.slice(1),
      ),
    );
    const specMatchers = spec.inhibitRules.map((rule: Document) =>
      [...rule.sourceMatch, ...rule.targetMatch].map(({ name, value }: Document) => [name, value]),
    );
    expect(specMatchers).toEqual(matchers);
    const inhibited = matchers.map((rule: Document) => rule.at(-1)[1]).join('|');
    const names = alerts.map(({ alert }) => alert).filter((name) => new RegExp(`^(${inhibited})$`).test(name));
    expect(names).toContain('RevocationsStale');
    expect(names.length).toBeGreaterThan(6);
    // Every receiver, `route`s included, exists.
    expect(receivers.map(({ name }: Document) => name)).toEqual(expect.arrayContaining([route.receiver]));
  });

  // The registry contains the metrics that every process has. The other metrics are found in the sources.
  const metrics = createMetrics('any');
  collectProcessMetrics(metrics);
  const registered = new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name));
  for (const file of ['packages/service/src/database/metrics.ts', ...findFiles('apps/*/src/**/*.ts')])
    if (read(file).includes("from 'prom-client'"))
      for (const [, name] of read(file).matchAll(/name: '(\w+_\w+)'/g)) registered.add(name as string);
  const listed = metricsOfTable(read('docs/operations/observe.md'));

  test('docs/operations/observe.md lists every metric', () => {
    // One row, with the names `process_*` and `nodejs_*`, stands for the metrics that prom-client collects.
    const ours = [...registered].filter((name) => !/^(process|nodejs)_/.test(name));
    // There are more than 10 metrics, unless the pattern that finds their names no longer matches the sources.
    expect(ours.length).toBeGreaterThan(10);
    expect(ours.filter((name) => !listed.includes(name))).toEqual([]);
  });

  test('alerts, dashboards and documents use only metrics that exist', () => {
    // Prometheus creates `up`, `ALERTS` and the results of the recording rules.
    const existing = new Set([...registered, 'up', 'ALERTS', ...rules.map(({ record }) => record)]);
    const panels = dashboards.flatMap((file) => JSON.parse(read(file)).panels);
    const expressions: string[] = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }: Document) => targets.map((target: Document) => target.expr)),
    ];
    const used = new Set([
      ...expressions.flatMap(metricsOfExpression),
      ...metricsInText(read('docs/operations/runbook.md')),
      ...listed,
    ]);
    // Fewer names would mean that the patterns above no longer match.
    expect(used.size).toBeGreaterThan(20);
    // A histogram has further series with these suffixes.
    const exists = (name: string) => existing.has(name) || existing.has(name.replace(/_(bucket|count|sum)$/, ''));
    expect([...used].filter((name) => !exists(name))).toEqual([]);
  });
});
