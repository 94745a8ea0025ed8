// Converts the alerts of infra/prometheus/alerts.yml into the resource of the Prometheus operator.
import { read } from '@bay-booking/testkit/repository';
import { parse, stringify } from 'yaml';

export const ruleFile = 'infra/kubernetes/monitoring/rules.yaml';

export function prometheusRule(): string {
  const { groups } = parse(read('infra/prometheus/alerts.yml'));
  const labels = { 'app.kubernetes.io/part-of': 'bay-booking' };
  const metadata = { name: 'bay-booking', labels };
  const resource = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata, spec: { groups } };
  return `# Generated from infra/prometheus/alerts.yml by \`npm run generate\`.\n${stringify(resource, { lineWidth: 0 })}`;
}
