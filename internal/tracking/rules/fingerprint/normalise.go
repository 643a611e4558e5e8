package fingerprint

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

const (
	maxNormal = 300  // maximum length of the result
	maxRaw    = 4000 // maximum length of the input
)

// kept matches numbers that distinguish errors, such as exit codes. Normalise does not replace
// them.
var kept = regexp.MustCompile(strings.Join([]string{
	`(?i)\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]*\d{1,3}\b`,
	`\breturned(?: code| status)? \d{1,3}\b`,
	`\b(?:http|status|code|error)(?:[ _]code|/[\d.]+)?[ :=]*[1-5]\d\d\b`,
	`\b[45]\d\d (?:not found|bad request|unauthori|forbidden|conflict|gone|internal|bad gateway|service|gateway|too many)`,
	`\bcve-\d{4}-\d+\b`,
	`\bsqlstate[ :=(\[]*[0-9a-z]{5}\b`,
	`\b(?:[efwcdgrn]|ts|cs|fs|bc|ca|sa|sc|dl|nu|msb|lnk|ora-|pls-|tns-)\d{3,5}\b`,
	`\b(?:python|node|nodejs|go|java|jdk|ruby|php|perl|gcc|clang|rust|rustc|postgres|postgresql|mysql|redis|npm|dotnet|debian|ubuntu|version|release)[ @=-]?v?\d+(?:\.\d+)*\b`,
	`\b\w*(?:test|case|spec|scenario)\w*\d\w*`,
}, `|`))

var variable = []*regexp.Regexp{
	regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`(?i)\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?z\b| ?[+-]\d\d:?\d\d)?)?`),
	regexp.MustCompile(`(?i)\b((mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(\d{1,2} )?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d{1,4}(,? \d{4})? \d\d:\d\d(:\d\d)?( \d{4}| gmt| utc)?\b`),
	regexp.MustCompile(`\b\d\d:\d\d(:\d\d([.,]\d+)?)?\b`),
	regexp.MustCompile(`(?i)[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}\b`),
	regexp.MustCompile(`(?i)\[?(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\]?|\[?\b(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}\]?|\[?\b(?:[0-9a-f]{1,4}:){2,6}:|\[::1\]`),
	regexp.MustCompile(`(?i)\b(\d+([.,]\d+)?(h|m|s|ms))+\b`),
	regexp.MustCompile(`(?i)\b\d+([.,]\d+)? ?(ns|µs|us|ms|s|m|h|d|secs?|seconds?|mins?|minutes?|hours?|days?)\b`),
	regexp.MustCompile(`(?i)\b\d+([.,]\d+)? ?([kmgt]i?b|bytes?)\b`),
	regexp.MustCompile("\"[^\"\\s]*\\d[^\"\\s]*\"|'[^'\\s]*\\d[^'\\s]*'|`[^`\\s]*\\d[^`\\s]*`"),
}

var names = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?i)\b(worktrees?[/-])[\w.-]+`), "$1#"},
	{regexp.MustCompile(`\b(tmp\.)[A-Za-z0-9]{6,}`), "$1#"},
	{regexp.MustCompile(`(/tmp/[\w-]*\.)[A-Za-z0-9]{6,}\b`), "$1#"},
	{regexp.MustCompile(`\b(tmp)[a-z0-9_]{6,10}\b`), "$1#"},
	{regexp.MustCompile(`\b([a-z][a-z0-9]*(?:-[a-z0-9]+)*?)-[a-f0-9]{7,10}-[a-z0-9]{5}\b`), "$1-#"},
	{regexp.MustCompile(`\b(req|request|call|toolu|msg|chatcmpl|run|resp|thread|trace|span|job|task|sess|session)([-_])[A-Za-z0-9]{6,}\b`), "$1$2#"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]*\d[0-9a-f]*(\.[a-z]{1,4})\b`), "#$1"},
}

var word = regexp.MustCompile(`[0-9A-Za-z_]*\d[0-9A-Za-z_]*`)

var (
	colour  = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
	hexWord = regexp.MustCompile(`^(0x[0-9a-f]+|[0-9a-f]{6,})$`)
	mixed   = regexp.MustCompile(`\d[a-z_]+\d+[a-z_]+\d`)
	numbers = regexp.MustCompile(`\d+([.,:]\d+)*`)
)

// hide replaces digits by private characters, so that they stay unchanged. show restores the
// digits.
var (
	hide = strings.NewReplacer("0", "\ue000", "1", "\ue001", "2", "\ue002", "3", "\ue003", "4", "\ue004",
		"5", "\ue005", "6", "\ue006", "7", "\ue007", "8", "\ue008", "9", "\ue009")
	show = strings.NewReplacer("\ue000", "0", "\ue001", "1", "\ue002", "2", "\ue003", "3", "\ue004", "4",
		"\ue005", "5", "\ue006", "6", "\ue007", "7", "\ue008", "8", "\ue009", "9")
)

var (
	temporary = regexp.MustCompile(`(?i)(?:/te?mp|/private/tmp|/T|\\temp|/dev/shm)[/\\](?:[\w.]+[-.])*\w{6,12}\b`)
	release   = regexp.MustCompile(`\b[vV]?\d+(?:\.\d+)+\b`)
)

// hideRandom replaces the random end of a name in a temporary folder.
func hideRandom(path string) string {
	at := strings.LastIndexAny(path, `-./\`) + 1
	if strings.HasPrefix(path[at:], "tmp") {
		at += len("tmp")
	}
	if !isRandom(path[at:]) {
		return path
	}
	return path[:at] + "#"
}

// isRandom recognises names such as "qa_cmsbd" and "x7Kd2p". In a word, a capital does not follow a
// small letter, and a consonant does not follow five others.
func isRandom(name string) bool {
	run, digits, small, mixed := 0, 0, false, false
	for _, r := range name {
		digits += btoi(unicode.IsDigit(r))
		mixed = mixed || small && unicode.IsUpper(r)
		small = unicode.IsLower(r)
		if run++; strings.ContainsRune("aeiouyAEIOUY0123456789_", r) {
			run = 0
		}
		mixed = mixed || run > 5
	}
	return mixed || digits > 0 && digits < len(name) || len(name) == 8 && strings.Contains(name, "_")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tail matches the last part of a name such as "web-x2x9z".
var tail = regexp.MustCompile(`\b[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[a-z0-9]{5,12}\b`)

var (
	digitBeforeLetter = regexp.MustCompile(`\d[a-z]`)
	technical         = regexp.MustCompile(`^(?:k8s|s3|ec2|i18n|l10n|a11y|e2e|b2b|p2p|x86|h2|oauth2|v\d+(?:alpha|beta|rc)|\d+(?:bit|gb|mb|kb|ms|px)$)`)
)

// hideTail replaces the random last part of the name of a container, pod or job.
func hideTail(name string) string {
	at := strings.LastIndexByte(name, '-') + 1
	part := name[at:]
	if technical.MatchString(part) || !digitBeforeLetter.MatchString(part) && oddPairs(part) < 2 {
		return name
	}
	return name[:at] + "#"
}

// oddPairs counts the pairs of consonants that English words rarely have. A compound word such as
// "checkpoint" has one such pair.
func oddPairs(word string) int {
	n := 0
	for i := range len(word) - 1 {
		if pair := word[i : i+2]; !strings.ContainsAny(pair, "aeiouy0123456789") && !strings.Contains(pairs, pair) {
			n++
		}
	}
	return n
}

const pairs = "bb bl br bs bt cc ch ck cl cr cs ct dd dg dl dm dr ds dw ff fl fr fs ft gg gh gl gm gn gr gs ht kl kn ks kt kw " +
	"lb lc ld lf lg lk ll lm ln lp ls lt lv mb ml mm mn mp ms nb nc nd nf ng nk nl nm nn ns nt nv nw nz ph pl pp pr ps pt ql " +
	"rb rc rd rf rg rk rl rm rn rp rr rs rt rv rw sc sh sk sl sm sn sp sq ss st sv sw tc th tl tm tr ts tt tw wd wh wl wn wr ws xc xp xt zz"

// hideRelease protects the digits of versions, which have three numbers. An address has four
// numbers, and a date ends with a year.
func hideRelease(number string) string {
	parts := strings.Split(number, ".")
	if len(parts) != 3 || len(parts[2]) > 3 {
		return number
	}
	return hide.Replace(number)
}

// Plain returns a text without the control sequences that set colours in a terminal.
func Plain(text string) string {
	if !strings.Contains(text, "\x1b") {
		return text
	}
	return colour.ReplaceAllString(text, "")
}

// Normalise returns a text that is equal for repetitions of the same error. It replaces the parts
// that vary, such as ids and times, with "#". It keeps numbers that tell errors apart, such as exit
// codes. The text has one line of at most 300 characters.
func Normalise(text string) string {
	s := deferred.Clean(Plain(cut(text, maxRaw)), maxRaw)
	if strings.ContainsAny(s, `/\`) {
		s = temporary.ReplaceAllStringFunc(s, hideRandom)
	}
	s = release.ReplaceAllStringFunc(s, hideRelease)
	s = kept.ReplaceAllStringFunc(s, hide.Replace)
	for _, v := range variable {
		s = v.ReplaceAllString(s, "#")
	}
	for _, n := range names {
		s = n.form.ReplaceAllString(s, n.with)
	}
	if strings.Contains(s, "-") {
		s = tail.ReplaceAllStringFunc(s, hideTail)
	}
	s = word.ReplaceAllStringFunc(s, func(w string) string {
		if low := strings.ToLower(w); hexWord.MatchString(low) || len(w) >= 12 && mixed.MatchString(low) {
			return "#"
		}
		return w
	})
	s = numbers.ReplaceAllString(s, "#")
	return cut(strings.Join(strings.Fields(strings.ToLower(show.Replace(s))), " "), maxNormal)
}

func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit])
	}
	return strings.TrimRightFunc(s, unicode.IsSpace)
}
