package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// ordinary returns the default of Config.Ordinary: words, or words in a row, in the
// classes of errors that come from the work, not from what it runs on.
func ordinary() []string {
	return []string{
		// of the code that is worked on
		"test", "tests", "lint", "compile", "compiler", "compilation", "build", "syntax", "type", "merge", "conflict",
		"validation", "assertion", "assert", "review", "logic", "parse", "parser", "parsing", "decode", "patch", "git",
		// of who decides
		"policy", "denied", "user", "permission", "rejected", "blocked", "interrupted", "cancelled", "canceled",
		// of one run: its limits, its request, what it called
		"iterations", "turns", "max_steps", "max_cost", "context_length", "context_window", "prompt",
		"invalid_request", "invalid_argument", "invalid_input", "bad_request", "400", "404", "409", "422",
		"tool", "agent_error", "command", "exit", "exec", "file", "path_error", "panic",
		// of a language: the types of exceptions
		"value_error", "key_error", "index", "lookup_error", "attribute_error", "import_error", "name_error",
		"module_not_found", "null", "pointer", "reference_error", "runtime_error", "range_error", "recursion",
		"arithmetic", "division", "overflow", "unicode", "illegal", "not_implemented", "error_string", "wrap_error", "join_error",
	}
}

// vague are the words of which a class says nothing if it has no others.
var vague = []string{"error", "errors", "err", "exception", "failure", "failed", "fail", "fatal", "other", "unknown", "none", "generic", "general"}

// infrastructure returns class as it names an infrastructure failure, "" if it
// does not: if it says nothing, or has a word of an ordinary failure.
func (c Config) infrastructure(class string) string {
	words := classWords(class)
	says := slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(vague, w) })
	if !says || slices.ContainsFunc(c.Ordinary, func(o string) bool { return inRow(words, classWords(o)) }) {
		return ""
	}
	for i, w := range words {
		if hexWord.MatchString(w) && strings.ContainsAny(w, "0123456789") || len(w) >= 12 && mixed.MatchString(w) {
			words[i] = "#" // an id
		}
	}
	return strings.Join(words, "_")
}

// toldClass returns the class that the text of an error without one tells: that of
// a model provider's API, in the words of Claude Code and of the providers' own
// libraries; "" where it tells none. Any other text may be about the work itself:
// "expected 200, got 503".
func toldClass(text string) string {
	text = cut(text, 1000)
	for _, form := range providerErrors {
		if m := form.FindStringSubmatch(text); m != nil {
			return "api_error_" + strings.ToLower(m[1])
		}
	}
	return ""
}

var providerErrors = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^\W{0,3}api error\W{1,4}(429|5\d\d)\b`),
	regexp.MustCompile(`(?i)^\W{0,3}api error\W{1,4}(connection error|request timed out|overloaded|rate limit)`),
	regexp.MustCompile(`^(?:openai|anthropic|litellm)(?:\.\w+)*\.(RateLimitError|APIConnectionError|APITimeoutError|Timeout|InternalServerError|ServiceUnavailableError|OverloadedError)\b`),
	regexp.MustCompile(`^(?:Error code: )?(?:\d{3} )?(?:- )?\{["']type["']: ?["']error["'], ?["']error["']: ?\{.{0,200}?["'](overloaded_error|rate_limit_error)["']`),
}

// inRow reports whether words has those of part, one after the other.
func inRow(words, part []string) bool {
	if len(part) == 0 {
		return false
	}
	for i := 0; i+len(part) <= len(words); i++ {
		if slices.Equal(words[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// classWords returns the words of an error's class in lower case: "RateLimited",
// "rate-limited" and "rate_limited" have the same two, "HTTPError" has two.
func classWords(class string) []string {
	var b strings.Builder
	runes := []rune(cut(class, 100))
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
