package transparency

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func fiveWitnesses(tb testing.TB) (signers []note.Signer, lines string) {
	tb.Helper()
	for i := range 5 {
		s, vkey := newWitness(tb, fmt.Sprintf("w%d.example", i))
		signers = append(signers, s)
		lines += fmt.Sprintf("witness W%d %s https://w%d.example/submit\n", i, vkey, i)
	}
	return signers, lines
}

//guarantee:witness-fork
func TestPolicy_Check(t *testing.T) {
	signers, witnesses := fiveWitnesses(t)
	logSigner, logKey := newLog(t, "hooktrail")
	stranger, _ := newWitness(t, "stranger")
	_, otherLog := newLog(t, "hooktrail")
	for _, tt := range []struct {
		name, rules string
		by          []int
		met         bool
	}{
		{"None", "quorum none", nil, true},
		{"OneIsMissing", "quorum W0", []int{1, 2}, false},
		{"One", "quorum W0", []int{0}, true},
		{"Any", "group g any W0 W1\nquorum g", []int{1}, true},
		{"AllButOne", "group g all W0 W1 W2\nquorum g", []int{0, 2}, false},
		{"All", "group g all W0 W1 W2\nquorum g", []int{0, 1, 2}, true},
		{"TwoOfThree", "group g 2 W0 W1 W2\nquorum g", []int{0, 2}, true},
		{"OneOfTwo", "group g 2 W0 W1 W2\nquorum g", []int{0, 3}, false},
		{"Nested", "group a 2 W0 W1 W2\ngroup b any W3 W4\n group ab all a b\nquorum ab", []int{1, 2, 4}, true},
		{"NestedHalf", "group a 2 W0 W1 W2\ngroup b any W3 W4\ngroup ab all a b\nquorum ab", []int{0, 1, 2}, false},
		{"Comments", "# who\n\t\n  #x\ngroup\tg  any  W0\n\nquorum g ", []int{0}, true},
		{"Log", "log " + otherLog + "\nlog " + logKey + " https://log.example/\nquorum W0", []int{0}, true},
		{"OtherLog", "log " + otherLog + "\nquorum W0", []int{0}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParsePolicy([]byte(witnesses + tt.rules + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			all := []note.Signer{logSigner, stranger}
			for _, i := range tt.by {
				all = append(all, signers[i])
			}
			got := p.Check(sign(t, checkpointText, all...))
			if got.Met() != tt.met || len(got.By) != len(tt.by) || got.Of != 5 {
				t.Errorf("got %+v, want met %v by %v", got, tt.met, tt.by)
			}
			for i, by := range got.By {
				if want := fmt.Sprintf("W%d", tt.by[i]); by.Witness != want || by.Time.IsZero() {
					t.Errorf("got %+v, want %s", by, want)
				}
			}
			if want := fmt.Sprintf("%d of 5 witnesses", len(tt.by)); got.String() != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// An invalid cosignature does not count and does not affect others.
//
//guarantee:witness-fork
func TestPolicy_CheckForged(t *testing.T) {
	signers, witnesses := fiveWitnesses(t)
	p, err := ParsePolicy([]byte(witnesses + "group g 2 W0 W1 W2\nquorum g\n"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(sign(t, checkpointText, signers[0], signers[1]))
	other := string(sign(t, "hooktrail/acme\n2\nx\n", signers[2]))
	_, lines, _ := strings.Cut(other, "\n\n")
	if got := p.Check([]byte(good + lines)); len(got.By) != 2 || !got.Met() {
		t.Errorf("beside a wrong one: got %+v", got)
	}
	half := string(sign(t, checkpointText, signers[0]))
	if got := p.Check([]byte(half + lines)); len(got.By) != 1 || got.Met() {
		t.Errorf("a wrong one was counted: got %+v", got)
	}
	for _, text := range []string{"", "x", checkpointText, good[:len(good)-1]} {
		if got := p.Check([]byte(text)); len(got.By) != 0 || got.Met() {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestParsePolicy_Refuses(t *testing.T) {
	_, witnesses := fiveWitnesses(t)
	_, logKey := newLog(t, "log")
	_, other := newWitness(t, "other")
	first := strings.SplitAfter(witnesses, "\n")[0]
	sameKey := strings.Replace(first, "W0", "V", 1)
	for name, text := range map[string]string{
		"Empty": "", "NoQuorum": witnesses, "TwoQuorums": witnesses + "quorum W0\nquorum W0\n",
		"UnknownQuorum": witnesses + "quorum X\n", "UnknownWord": "wittness a b\nquorum none\n",
		"UnknownMember": witnesses + "group g any W0 X\nquorum g\n", "Circle": witnesses + "group g any g\nquorum g\n",
		"MemberTwice": witnesses + "group g 2 W0 W0\nquorum g\n", "MemberOfTwo": witnesses + "group a any W0\ngroup b all W0 W1\nquorum b\n",
		"NameTwice": witnesses + first + "quorum none\n", "KeyTwice": witnesses + sameKey + "quorum none\n",
		"None": "witness none " + other + "\nquorum none\n", "NoMember": witnesses + "group g any\nquorum none\n",
		"Zero": witnesses + "group g 0 W0\nquorum g\n", "TooMany": witnesses + "group g 2 W0\nquorum g\n",
		"Plus": witnesses + "group g +1 W0\nquorum g\n", "LogAsWitness": "witness a " + logKey + "\nquorum a\n",
		"WitnessAsLog": "log " + other + "\nquorum none\n", "LogTwice": "log " + logKey + "\nlog " + logKey + "\nquorum none\n",
		"CarriageReturn": "quorum none\r\n", "BadURL": "witness a " + other + " ftp://x/\nquorum a\n",
		"NotAKey": "witness a b\nquorum a\n", "Fields": "witness a " + other + " https://x/ y\nquorum a\n",
	} {
		if _, err := ParsePolicy([]byte(text)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// All witnesses together meet every policy. More cosignatures never make a policy unmet.
func FuzzParsePolicy(f *testing.F) {
	_, witnesses := fiveWitnesses(f)
	_, logKey := newLog(f, "log")
	f.Add([]byte(witnesses + "group a 2 W0 W1 W2\ngroup b any W3 W4\ngroup ab all a b\nquorum ab\n"))
	f.Add([]byte(witnesses + "log " + logKey + "\nquorum W0\n"))
	f.Add([]byte("quorum none\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		met := make([]bool, len(p.Witnesses))
		before := p.met(p.quorum, met)
		if before != (p.quorum.number < 0) {
			t.Fatal("met by nobody")
		}
		for i := range met {
			met[i] = true
			now := p.met(p.quorum, met)
			if before && !now {
				t.Fatalf("witness %d made it worse", i)
			}
			before = now
		}
		if !before {
			t.Fatal("not met by all")
		}
		if again, err := ParsePolicy(append([]byte(" # comment\n\n"), text...)); err != nil || len(again.groups) != len(p.groups) {
			t.Fatalf("with a comment in front: %v", err)
		}
	})
}
