package fingerprint

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Identity returns the normal form of an error in the agent's work. Two errors are the same failure
// if this form, the run type, the role and the target are equal.
func Identity(class, text string) string {
	words := classWords(class)
	name := Normalise(strings.Join(words, " "))
	if slices.ContainsFunc(noisy, func(n string) bool { return contains(words, n) }) || slices.Contains(timeouts, name) {
		return name
	}
	form := Normalise(text)
	if test := failedTest(text); test != "" {
		form = "test " + test + " failed"
	} else if named(words) && !strings.HasPrefix(form, strings.Join(words, "")) {
		form = name + ": " + form
	}
	return form
}

// noisy lists classes of errors about a model's output. The message contains the output, which
// differs each time, so only the class counts.
var noisy = []string{"parse", "parser", "parsing", "json decode", "decode error", "output parser", "zod", "pydantic", "structured output", "invalid json"}

var timeouts = []string{"timeout", "timed out", "deadline exceeded"}

var vague = []string{"error", "errors", "err", "exception", "failure", "failed", "fail", "fatal", "other", "unknown", "none", "generic", "general"}

func named(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(vague, w) })
}

// testName matches the name of a test as pytest, unittest, Go and JUnit print it.
var testName = regexp.MustCompile(`\b(test_\w+|Test[A-Z]\w+|\w+Test#\w+)(\.(?:py|go|rb|[jt]sx?)\b)?`)

func failedTest(text string) string {
	var names []string
	for _, m := range testName.FindAllStringSubmatch(cut(text, maxRaw), -1) {
		if file := m[2] != ""; !file && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if len(names) != 1 {
		return ""
	}
	return strings.ToLower(names[0])
}

// ByPerson reports whether the error says that a person interrupted or refused the work.
func ByPerson(class, text string) bool {
	words := classWords(class)
	switch strings.Join(words, " ") {
	case "keyboard interrupt", "user interrupt", "user interrupted", "user aborted", "user abort", "user cancelled", "user canceled",
		"cancelled by user", "canceled by user", "interrupted by user", "aborted by user":
		return true
	}
	text = cut(text, 500)
	if slices.ContainsFunc(refusals, func(phrase string) bool { return contains(words, phrase) }) && !machine.MatchString(text) {
		return true
	}
	return byPerson.MatchString(text) || strings.Contains(text, " by ") && noApproval.MatchString(text)
}

// refusals lists error classes of a refused approval. Their texts can have any language, so a person
// refused it unless the text names a policy or a program.
var refusals = []string{
	"approval denied", "approval rejected", "approval refused", "approval declined", "user rejected", "user denied", "user refused", "user declined",
}

var machine = regexp.MustCompile(`(?i)polic|pol[ií]ti[ck]|politique|richtlinie|\brules?\b|\br[eè]gles?\b|\breglas?\b|\bregeln?\b|guardrail|webhook|admission|` +
	`\bhooks?\b|\bbots?\b|automat|time[d-]? ?out|expired`)

// noApproval matches only if a person follows "by", because a policy can deny an approval too.
var noApproval = regexp.MustCompile(`(?i)^\W{0,3}(?:error: |the )?(?:\w+ ){0,2}(?:approval|permission|confirmation|consent|sign-?off|authori[sz]ation|` +
	`(?:change|tool|deploy(?:ment)?|access|edit|merge|release)(?: (?:request|call|use))?|request|command|plan|edit|action)\W(?:was |has been |is )?` +
	`(?:denied|rejected|declined|refused|withheld|turned down|not given|not granted|vetoed)\W(?:\w+ ){0,2}?by (?:the |a |an |our |my )?` +
	`(?:[\w.+-]+@[\w-]+\.[\w.-]+|@\w+|human|user|operator|person|approver|on-?call|engineer|maintainer|manager|lead|admin(?:istrator)?|owner)\b`)

var byPerson = regexp.MustCompile(`(?i)^\W{0,3}(?:error: |aborterror: |the )?(?:` +
	`(?:request|task|turn|run|step|session|operation|command|tool call|tool use|execution|conversation|agent)?\W{0,2}(?:was |has been |were )?` +
	`(?:interrupted|aborted|cancell?ed|stopped|rejected|denied|declined|refused)\W(?:\w+ ){0,3}?by (?:the )?(?:user|human|operator|person)\b` +
	`|(?:the )?user (?:interrupted|aborted|cancell?ed|stopped|rejected|denied|declined|refused|pressed (?:escape|esc|ctrl.c))\b` +
	`|the user doesn't want to (?:proceed|take this action)|keyboardinterrupt\b|\^c$)`)

func contains(words []string, phrase string) bool {
	sequence := classWords(phrase)
	for i := 0; i+len(sequence) <= len(words); i++ {
		if len(sequence) > 0 && slices.Equal(words[i:i+len(sequence)], sequence) {
			return true
		}
	}
	return false
}

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
