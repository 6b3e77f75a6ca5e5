import {
  isNoPlaceholder,
  isRandomText,
  isSecretOfName,
  isUserAndPassword,
} from "./secret-values.js";

/**
 * What credentials look like. Prefixes and lengths are those that the providers publish; most are gathered in the rules of gitleaks
 * (https://github.com/gitleaks/gitleaks, MIT licence) and secretlint (https://github.com/secretlint/secretlint, MIT licence), which were read for this table.
 *
 * Every expression begins with letters of its own, and every repetition that something may follow is bounded: so that no text, however made, takes more
 * than a time in proportion to its length.
 */
export interface CredentialRule {
  /** Its name, as refusals and redacted places say it. */
  readonly name: string;
  /** Any of these is in every text that it matches: parts of the one look at everything. See `HintAutomaton`. */
  readonly hints: readonly string[];
  /** Finds it. Global, since `lastIndex` says from where. */
  readonly pattern: RegExp;
  /** Judges what the expression found; absent: it is one. */
  readonly isCredential?: (match: RegExpExecArray) => boolean;
}

const rule = (
  name: string,
  hints: readonly string[],
  pattern: RegExp,
  isCredential?: CredentialRule["isCredential"],
): CredentialRule =>
  isCredential === undefined ? { name, hints, pattern } : { name, hints, pattern, isCredential };

const notWord = "(?![A-Za-z0-9_-])";
const own = (source: string): RegExp => new RegExp(`(?<![A-Za-z0-9_])(?:${source})`, "g");

/** Tokens that tell whose they are by their first letters. */
export const providerRules: readonly CredentialRule[] = [
  rule(
    "aws-access-key",
    ["A[KS]IA", "A[BC][IC]A"],
    own(`A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}${notWord}`),
  ),
  rule(
    "github-token",
    ["gh[pousr]_", "github_pat_"],
    own("gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255}"),
  ),
  rule(
    "gitlab-token",
    ["glpat-", "gl[drf]t-", "glcbt-", "glptt-", "glsoat-", "glagent-", "glimt-", "gloas-"],
    own("gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[A-Za-z0-9_-]{20,255}"),
  ),
  rule(
    "slack-token",
    ["xox[abeoprs]-", "xapp-"],
    own("xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[a-z0-9]{10,255}"),
  ),
  rule(
    "slack-webhook",
    ["hooks.slack.com"],
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{40,200}/g,
  ),
  rule(
    "discord-webhook",
    ["/api/webhooks/"],
    /discord(?:app)?\.com\/api\/webhooks\/[0-9]{10,25}\/[\w-]{50,200}/g,
  ),
  rule(
    "stripe-key",
    ["[sr]k_live_", "[sr]k_test_", "[sr]k_prod_", "whsec_"],
    own("[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{24,250}"),
  ),
  rule("anthropic-key", ["sk-ant-"], own("sk-ant-[a-z0-9]{2,20}-[A-Za-z0-9_-]{20,250}")),
  rule(
    "openai-key",
    ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-[A-Za-z0-9]{3}"],
    own(
      `sk-(?!ant-)(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,250}|[A-Za-z0-9]{40,250}${notWord})`,
    ),
  ),
  rule(
    "google-key",
    ["AIza", "GOCSPX-", "ya29."],
    own(`AIza[\\w-]{35}${notWord}|GOCSPX-[\\w-]{20,100}|ya29\\.[\\w-]{20,2000}`),
  ),
  rule("npm-token", ["npm_"], own(`npm_[A-Za-z0-9]{36}${notWord}`)),
  rule("pypi-token", ["pypi-AgE"], own("pypi-AgE[\\w-]{30,500}")),
  rule("sendgrid-key", ["SG."], own("SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}")),
  rule("twilio-key", ["SK[0-9a-f]{3}"], own(`SK[0-9a-f]{32}${notWord}`)),
  rule("mailgun-key", ["key-[0-9a-f]{3}"], own(`key-[0-9a-f]{32}${notWord}`)),
  rule("digitalocean-token", ["do[opr]_v1_"], own("do[opr]_v1_[a-f0-9]{64}")),
  rule("hugging-face-token", ["hf_"], own(`hf_[A-Za-z0-9]{34}${notWord}`)),
  rule(
    "shopify-token",
    ["shpat_", "shpca_", "shppa_", "shpss_"],
    own("shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
  ),
  rule("square-token", ["sq0[aci][tsd]p-"], own("sq0(?:atp|csp|idp)-[\\w-]{22,60}")),
  rule("docker-token", ["dckr_"], own("dckr_(?:pat|oat)_[\\w-]{20,100}")),
  rule("databricks-token", ["dapi[a-f0-9]"], own("dapi[a-f0-9]{32}")),
  rule("vault-token", ["hv[sbr]."], own("hv[sbr]\\.[\\w-]{24,500}")),
  rule(
    "terraform-token",
    [".atlasv1."],
    /(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{50,100}/g,
  ),
  rule("new-relic-key", ["NRAK-"], own("NRAK-[A-Z0-9]{27}")),
  rule("linear-key", ["lin_api_"], own("lin_api_[A-Za-z0-9]{32,64}")),
  rule("notion-token", ["ntn_"], own("ntn_[A-Za-z0-9]{40,60}")),
  rule("postman-key", ["PMAK-"], own("PMAK-[a-f0-9]{24}-[a-f0-9]{34}")),
  rule("telegram-token", ["[0-9]:AA"], /(?<![0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])/g),
  rule("atlassian-token", ["ATATT3"], own("ATATT3[\\w=-]{50,300}")),
  rule("azure-storage-key", ["AccountKey="], /AccountKey=[A-Za-z0-9+/]{40,100}={0,2}/g),
  rule("age-key", ["AGE-SECRET-KEY-"], own("AGE-SECRET-KEY-1[A-Z0-9]{40,80}")),
  rule("pawl-token", ["pawl_[0-9a-f]{2}"], own("pawl_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")),
];

/** Credentials that tell themselves by their form. */
export const formRules: readonly CredentialRule[] = [
  rule(
    "private-key",
    ["-----BEGIN "],
    // Its end is looked for by hand: a repetition up to it would read on to the end of the text from each beginning.
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g,
  ),
  rule("jwt", ["eyJ"], own("eyJ[\\w-]{8,500}\\.eyJ[\\w-]{8,8000}\\.[\\w-]{0,2000}")),
  rule(
    "url-password",
    ["://"],
    /:\/\/[^\s/?#@:"'<>\\]{0,200}:([^\s/?#@"'<>\\]{1,200})@/g,
    (match) => isNoPlaceholder(match[1] ?? ""),
  ),
  rule(
    "authorization-header",
    ["[Bb]earer", "BEARER", "[Bb]asic", "BASIC"],
    /(?<![A-Za-z])(?:(?:[Bb]earer|BEARER)[ \t]{1,4}([\w.~+/-]{16,4000}={0,2})|(?:[Bb]asic|BASIC)[ \t]{1,4}([A-Za-z0-9+/]{8,2000}={0,2}))/g,
    ([, bearer, basic = ""]) =>
      bearer === undefined ? isUserAndPassword(basic) : isRandomText(bearer, 2.8),
  ),
  rule(
    "assigned-secret",
    [
      "(?i)passw[od]",
      "(?i)passphrase",
      '(?i)pass[:= \\"]',
      "(?i)pwd",
      "(?i)secret",
      "(?i)token",
      "(?i)api[_-]key",
      "(?i)apikey",
      "(?i)access[_-]key",
      "(?i)accesskey",
      "(?i)private[_-]key",
      "(?i)privatekey",
      "(?i)signing[_-]key",
      "(?i)signingkey",
      "(?i)encryption[_-]key",
      "(?i)encryptionkey",
      "(?i)auth[_-]key",
      "(?i)authkey",
    ],
    /(pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|private|signing|encryption|auth)[_-]?key)["']?[ \t]{0,4}[=:][ \t]{0,4}["']?([^\s"'&,;<>{}()\\]{8,500})/gi,
    ({ index, input, 1: word = "", 2: value = "" }) => {
      const before = /[A-Za-z_-]*$/.exec(input.slice(Math.max(0, index - 40), index))?.[0] ?? "";
      return isSecretOfName(before + word, value);
    },
  ),
];

/** Every rule that judges a text by itself. */
export const textRules: readonly CredentialRule[] = [...providerRules, ...formRules];
