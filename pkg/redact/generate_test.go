package redact

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

var texts = []string{
	"The quick brown fox jumps over the lazy dog. ", "token := strings.TrimSpace(key)\n", "export API_KEY=", `{"password": "`, "\n", "\r\n", " ", "\n\n",
	"s.", "they say: the keys are in the eye of access. ", "import { a } from 'b'\n", "-----BEGIN", "curl -u user:", "éü日本 ", "\xff\xfe", "\"}\n", "' ", "`;", "\\n",
	"--mount=type=secret,", "EXAMPLE", " = ", ": ", "kind: Secret\ndata:\n  a: ", "false", "abcdefghijklmnopqrstuvwxyz", "ſ", "\u212aey", "İ", "gitleaks:allow",
}

// secretText generates texts of about 4 KB with strings that look like secrets.
func secretText(tb testing.TB) *rapid.Generator[string] {
	tb.Helper()
	book, err := shipped()
	if err != nil {
		tb.Fatal(err)
	}
	var trees []*syntax.Regexp
	for _, r := range book.rules {
		if r.regex != "" {
			tree, err := syntax.Parse(r.regex, syntax.Perl)
			if err != nil {
				tb.Fatalf("%s: %v", r.id, err)
			}
			trees = append(trees, tree)
		}
	}
	sizes := []int{10, 200, 1000, 4096}
	if race.Enabled {
		sizes = sizes[:2] // expressions are slow under the detector, and have no part in races
	}
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		size := rapid.SampledFrom(sizes).Draw(t, "size")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for b.Len() < size {
			switch rng.IntN(5) {
			case 0, 1:
				match(&b, trees[rng.IntN(len(trees))], rng)
			case 2:
				match(&b, trees[rng.IntN(len(trees))], rng)
				b.WriteString(" \n\"';"[rng.IntN(5):][:1])
			case 3:
				b.WriteString(texts[rng.IntN(len(texts))])
			default:
				noise(&b, rng)
			}
		}
		return b.String()
	})
}

func noise(b *strings.Builder, rng *rand.Rand) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:=/+ \n\"'{}[]"
	for range rng.IntN(60) {
		b.WriteByte(letters[rng.IntN(len(letters))])
	}
}

// match writes a text that re matches, apart from assertions.
func match(b *strings.Builder, re *syntax.Regexp, rng *rand.Rand) {
	times := func(least, most int) {
		for range least + rng.IntN(most-least+1) {
			match(b, re.Sub[0], rng)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && rng.IntN(4) == 0 {
				r = unicode.SimpleFold(r)
			}
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		i := rng.IntN(len(re.Rune)/2) * 2
		b.WriteRune(re.Rune[i] + rune(rng.IntN(min(int(re.Rune[i+1]-re.Rune[i]), 127)+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(byte(' ' + rng.IntN(95)))
	case syntax.OpStar:
		times(0, 3)
	case syntax.OpPlus:
		times(1, 20)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 || most > re.Min+100 {
			most = re.Min + 100
		}
		times(re.Min, most)
	case syntax.OpAlternate:
		match(b, re.Sub[rng.IntN(len(re.Sub))], rng)
	default:
		for _, sub := range re.Sub {
			match(b, sub, rng)
		}
	}
}
