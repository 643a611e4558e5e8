package fingerprint

import (
	"regexp"
	"slices"
	"strings"
)

// Kinds of infrastructure failures. Each tenant has one issue for each kind, independent of the
// error messages.
const (
	Unavailable = "provider_unavailable" // the model provider does not answer
	Limited     = "provider_limit"       // a rate limit, a quota or the credit is used up
	Login       = "provider_login"       // the key or token of the provider is not accepted
	DiskFull    = "disk_full"
	Lost        = "outage" // of the machines, or of something that the class does not name
)

// Infrastructure returns the kind of an infrastructure failure, such as a rate limit. It returns ""
// if the failure belongs to the agent's work.
//
// class is the error class that the event states. If it contains a phrase in ordinary, the failure
// belongs to the work. If it contains a phrase in own, the failure is one of the infrastructure,
// and class is its kind.
func Infrastructure(class, text string, own, ordinary []string) string {
	words := classWords(class)
	has := func(phrase string) bool { return contains(words, phrase) }
	if slices.ContainsFunc(ordinary, has) {
		return ""
	}
	if slices.ContainsFunc(own, has) {
		return strings.ReplaceAll(Normalise(strings.Join(words, " ")), " ", "_")
	}
	for _, known := range classes {
		if slices.ContainsFunc(known.phrases, has) {
			return known.kind
		}
	}
	if slices.ContainsFunc(ofWork, has) {
		return ""
	}
	return provider(text, named(words))
}

var classes = []struct {
	kind    string
	phrases []string
}{
	{Limited, []string{
		"rate limit", "rate limited", "ratelimit", "too many requests", "429", "resource exhausted", "insufficient quota", "quota exceeded",
		"quota", "usage limit", "credit balance", "billing",
	}},
	{Login, []string{"authentication error", "api key expired", "invalid api key", "oauth", "token expired"}},
	{Unavailable, []string{
		"provider", "model unavailable", "model overloaded", "llm down", "llm unavailable", "bedrock", "overloaded", "service unavailable",
		"service not available", "bad gateway", "gateway timeout", "internal server error",
		"server error", "api error", "api connection", "api timeout", "http 500", "http 502", "http 503", "http 504", "http 529",
		"500", "502", "503", "504", "529", "5xx",
	}},
	{DiskFull, []string{"disk full", "enospc", "no space"}},
	{Lost, []string{"infra", "infrastructure", "outage", "runner lost", "sandbox lost", "worker lost", "node lost", "evicted"}},
}

// ofWork lists error classes about the work of a run, such as "lint". Their messages may quote a
// provider's error, which does not count.
var ofWork = []string{
	"test", "tests", "assertion", "assert", "lint", "compile", "compiler", "compilation", "build", "syntax", "type", "merge", "conflict",
	"validation", "review", "policy", "guardrail", "gate", "parse", "parser", "parsing", "decode", "patch", "permission", "deploy",
}

const host = `(?:api\.(?:anthropic|openai|mistral|groq|x|deepseek|cohere|together|fireworks|perplexity|githubcopilot)\.(?:com|ai|xyz)` +
	`|(?:generativelanguage|[\w-]*aiplatform|cloudcode-pa)\.googleapis\.com|openrouter\.ai|bedrock[\w-]*\.[\w.-]*amazonaws\.com` +
	`|[\w-]+\.openai\.azure\.com|api-inference\.huggingface\.co|chatgpt\.com/backend-api)`

const who = `\b(?:anthropic|claude|openai|chatgpt|gpt-[\w.]+|azure openai|gemini|vertex ai|bedrock|mistral|openrouter|groq|litellm|` +
	`(?:model|llm|inference|ai) (?:provider|api|service|endpoint|backend|server|gateway))\b`

const down = `(?:\b(?:50[0234]|529)\b|overloaded|unavailable|at capacity|bad gateway|gateway time-?out|internal server error|` +
	`ECONNRESET|ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EPIPE|socket hang up|fetch failed|getaddrinfo|connection (?:error|reset|refused|closed|timed out)|` +
	`timed? ?out|timeout|could not (?:connect|resolve)|name resolution|no such host|is down|not responding|tls handshake)`

var wordings = []struct {
	kind string
	form *regexp.Regexp
}{
	{Limited, regexp.MustCompile(`(?i)\bcredit balance (?:is )?too low|\binsufficient_quota\b|exceeded your current quota|\bresource_exhausted\b|` +
		`\brate_limit_error\b|\brate limit (?:reached|exceeded) for|tokens per (?:min|day)|\b(?:usage|session|weekly|5-hour) limit (?:reached|exceeded)|` +
		`(?:reached|hit|exceeded) your (?:\w+ ){0,2}(?:usage |rate |session |weekly )?limit|organization's rate limit|` +
		`(?:\b429\b|too many requests).{0,80}` + who + `|` + who + `.{0,80}(?:\b429\b|too many requests|rate.?limit|quota)|` + host + `.{0,120}\b429\b`)},
	{Login, regexp.MustCompile(`(?i)\boauth (?:access )?token (?:has )?(?:expired|been revoked|is invalid)|\binvalid (?:x-)?api.key\b|\bincorrect api key\b|` +
		`"?type"?: ?"?authentication_error|please run /login|` +
		`\b(?:access|refresh|oauth|login|session) token\b.{0,120}\b(?:log|sign) ?in again\b|` + who + `.{0,60}(?:token (?:has )?expired|\b401\b)|` + host + `.{0,120}\b401\b`)},
	{Unavailable, regexp.MustCompile(`(?i)\boverloaded_error\b|\bmodel (?:is )?(?:currently |temporarily )?(?:overloaded|unavailable)\b|^\W{0,3}overloaded\W{0,3}$|` +
		`\b(?:http|status|code|error)\W{0,2}(?:code\W{1,2})?529\b|\b529\b.{0,20}overloaded|overloaded.{0,20}\b529\b|` +
		host + `.{0,200}?` + down + `|` + down + `.{0,200}?` + host + `|` + who + `.{0,60}` + down + `|` + down + `.{0,60}` + who)},
}

var wrappers = []struct {
	kind string
	form *regexp.Regexp
}{
	{Limited, regexp.MustCompile(`(?i)^\W{0,3}(?:api error|error code|(?:openai|anthropic|litellm)[\w.]*)\W{1,4}(?:[\w.]*\W{0,2}(?:ratelimiterror|rate limit)|429)\b`)},
	{Unavailable, regexp.MustCompile(`(?i)^\W{0,3}(?:api error|error code)\W{1,4}(?:5\d\d\b|connection error|request timed out|overloaded|terminated)`)},
	{Unavailable, regexp.MustCompile(`^(?:openai|anthropic|litellm)(?:\.\w+)*\.(?:APIConnectionError|APITimeoutError|Timeout|InternalServerError|ServiceUnavailableError|OverloadedError)\b`)},
}

// These patterns recognise the error page of a gateway. Such a page counts only if the error has no
// class and names no other host.
var (
	body = regexp.MustCompile(`(?is)^\W{0,3}(?:error:? |http(?:/[\d.]+)? |api ?error:? |unexpected status(?: code)?:? )*(?:<!doctype html>\s*|<html>.{0,100}<title>)?(?:<[^>]*>\s*)*` +
		`(?:502 bad gateway|503 service (?:temporarily )?unavailable|504 gateway time-?out|upstream connect error)`)
	limit  = regexp.MustCompile(`(?i)^\W{0,3}(?:error:? |http(?:/[\d.]+)? )?429 too many requests\b`)
	target = regexp.MustCompile(`(?i)https?://|\b[\w-]+\.(?:com|net|org|io|dev|internal|local|example)\b|\blocalhost\b|\d+\.\d+\.\d+\.\d+`)
	quoted = regexp.MustCompile(`(?i)\bexpected\b|\bassert|\bFAIL\b|\bwant\b|\btest_\w+|\bTest[A-Z]`)
)

// provider ignores texts such as "expected 200, got 503", because they may be the output of a test.
func provider(text string, classed bool) string {
	text = cut(text, 600)
	for _, w := range wrappers {
		if w.form.MatchString(text) {
			return w.kind
		}
	}
	if quoted.MatchString(text) {
		return ""
	}
	for _, w := range wordings {
		if w.form.MatchString(text) {
			return w.kind
		}
	}
	switch {
	case classed || target.MatchString(text):
	case body.MatchString(text):
		return Unavailable
	case limit.MatchString(text):
		return Limited
	}
	return ""
}
