/** A made-up credential, and the rule that finds it. */
export interface Canary {
  readonly rule: string;
  readonly value: string;
}

/**
 * Made-up credentials, put together here so that no scanner of sources takes them for real ones: at least one for each rule, each of which no other rule finds.
 */
export const canaries: readonly Canary[] = [
  { rule: "aws-access-key", value: `AKIA${"QZ3WXF7LT5NMR2VD"}` },
  { rule: "aws-access-key", value: `ASIA${"J4KPWXC6UHY3BTQE"}` },
  { rule: "github-token", value: `ghp_${"k3VxQm9TzL7wRb2NfYc8JdHs5GpA1eUo6iKt"}` },
  { rule: "github-token", value: `gho_${"Zt5nWq8LcX2vBm7RyKd3JsFh9PgTa4EuVi6o"}` },
  {
    rule: "github-token",
    value: `github_pat_${"11AQX7ZLY0kTn3vWb8RmPc_5JdHsGq2FeUxVi9oKyBtNwLaRzCpMgD4"}`,
  },
  { rule: "gitlab-token", value: `glpat-${"x7TqLm3KvRz9WbNc2YdF"}` },
  { rule: "slack-token", value: `xoxb-${"248163264128-512102420484-kQ7wZx3VtLm9RbNc2YdFhJsG"}` },
  {
    rule: "slack-token",
    value: `xapp-1-${"A04KQ7WZX3V"}-${"5129384756012"}-${"9f3c7a1e5b8d2046"}`,
  },
  {
    rule: "slack-webhook",
    value: `hooks.slack.com/services/${"T04KQ7WZX"}/${"B05LM9RBN"}/${"c2YdFhJsGpA1eUo6iKtVxQm9"}`,
  },
  {
    rule: "discord-webhook",
    value: `discord.com/api/webhooks/${"734912058163204187"}/${"kQ7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7wRb2NfYc8JdHs5GpA1eUo"}`,
  },
  { rule: "stripe-key", value: `sk_live_${"51Q7wZx3VtLm9RbNc2YdFhJs"}` },
  { rule: "stripe-key", value: `whsec_${"kQ7wZx3VtLm9RbNc2YdFhJsGpA1eUo6i"}` },
  {
    rule: "anthropic-key",
    value: `sk-ant-api03-${"kQ7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7w"}`,
  },
  { rule: "openai-key", value: `sk-proj-${"kQ7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7w"}` },
  { rule: "openai-key", value: `sk-${"kQ7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7wRb2N"}` },
  { rule: "google-key", value: `AIza${"SyDq7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iK"}` },
  { rule: "google-key", value: `GOCSPX-${"q7wZx3VtLm9RbNc2YdFhJsGpA1eU"}` },
  { rule: "npm-token", value: `npm_${"q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQ"}` },
  {
    rule: "pypi-token",
    value: `pypi-AgEIcHlwaS5vcmc${"CJGQ3wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL"}`,
  },
  {
    rule: "sendgrid-key",
    value: `SG.${"q7wZx3VtLm9RbNc2YdFhJs"}.${"GpA1eUo6iKtVxQm9TzL7wRb2NfYc8JdHs5GpA1eUo6i"}`,
  },
  { rule: "twilio-key", value: `SK${"7f3c9a1e5b8d20461f9e3c7a5d8b0264"}` },
  { rule: "mailgun-key", value: `key-${"7f3c9a1e5b8d20461f9e3c7a5d8b0264"}` },
  {
    rule: "digitalocean-token",
    value: `dop_v1_${"7f3c9a1e5b8d20461f9e3c7a5d8b02647f3c9a1e5b8d20461f9e3c7a5d8b0264"}`,
  },
  { rule: "hugging-face-token", value: `hf_${"qwZxVtLmRbNcYdFhJsGpAeUoiKtVxQmTzL"}` },
  { rule: "shopify-token", value: `shpat_${"7f3c9a1e5b8d20461f9e3c7a5d8b0264"}` },
  { rule: "square-token", value: `sq0atp-${"q7wZx3VtLm9RbNc2YdFhJs"}` },
  { rule: "docker-token", value: `dckr_pat_${"q7wZx3VtLm9RbNc2YdFhJsGpA1e"}` },
  { rule: "databricks-token", value: `dapi${"7f3c9a1e5b8d20461f9e3c7a5d8b0264"}` },
  { rule: "vault-token", value: `hvs.${"CAESIJq7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7w"}` },
  {
    rule: "terraform-token",
    value: `${"q7wZx3VtLm9RbN"}.atlasv1.${"c2YdFhJsGpA1eUo6iKtVxQm9TzL7wRb2NfYc8JdHs5GpA1eUo6iKtVxQm9TzL7w"}`,
  },
  { rule: "new-relic-key", value: `NRAK-${"Q7WZX3VTLM9RBNC2YDFHJSGPA1E"}` },
  { rule: "linear-key", value: `lin_api_${"q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9Tz"}` },
  { rule: "notion-token", value: `ntn_${"q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7w"}` },
  {
    rule: "postman-key",
    value: `PMAK-${"7f3c9a1e5b8d20461f9e3c7a"}-${"5d8b02647f3c9a1e5b8d20461f9e3c7a5d"}`,
  },
  { rule: "telegram-token", value: `${"734912058"}:AA${"Hq7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iK"}` },
  {
    rule: "atlassian-token",
    value: `ATATT3${"xFfGF0q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7wRb2NfYc8JdHs5=4EA7C9F1"}`,
  },
  {
    rule: "azure-storage-key",
    value: `AccountKey=${"q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7wRb2NfYc8JdHs5GpA1eUo6iKtVxQm9TzL7wRb2NfYc8J"}==`,
  },
  {
    rule: "age-key",
    value: `AGE-SECRET-KEY-1${"Q7WZX3VTLM9RBNC2YDFHJSGPA1EUO6IKTVXQM9TZL7WRB2NFYC8JDHS5GP"}`,
  },
  {
    rule: "pawl-token",
    value: `pawl_${"3f9a1c7e5b20"}_${"q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7w"}`,
  },
  {
    rule: "private-key",
    value: `-----BEGIN RSA PRIVATE ${"KEY-----\nMIIEowIBAAKCAQEAq7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7wRb2Nf\n-----END RSA PRIVATE KEY-----"}`,
  },
  {
    rule: "jwt",
    value: `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.${"eyJzdWIiOiJxN3daeDNWdExtOVJiIn0"}.${"q7wZx3VtLm9RbNc2YdFhJsGpA1eUo6iKtVxQm9TzL7w"}`,
  },
  { rule: "url-password", value: `postgres://billing:${"q7wZx3Vt!m9Rb"}@db.internal:5432/ledger` },
  { rule: "authorization-header", value: `Bearer ${"q7wZx3VtLm9RbNc2YdFhJsGp"}` },
  { rule: "authorization-header", value: `Basic ${"YmlsbGluZzpxN3daeDNWdExtOVJi"}` },
  { rule: "assigned-secret", value: `DB_PASSWORD=${"q7wZx3VtLm9RbNc2"}` },
];
