package fingerprint_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"
)

func TestNormalise(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"Plain", "Merge conflict in a.go", "merge conflict in a.go"},
		{"UUID", "tool id=00000000-4c1e-4b7a-9f00-0A0000000000 failed", "tool id=# failed"},
		{"Hex", "checkout of 3f5a9c1b2d failed", "checkout of # failed"},
		{"ShortHex", "at 0xAB and 0xdeadbeef", "at # and #"},
		{"WordsOfHexLettersStay", "decade facade defaced", "decade facade defaced"},
		{"Time", "at 2026-03-01T10:00:01.5Z and 23:59:00", "at # and #"},
		{"Duration", "timeout after 31s, then 1.5 minutes", "timeout after #, then #"},
		{"Number", "exit 3, port 8,080", "exit 3, port #"},
		{"PathDigits", "open /var/tmp/build-4411/out2.log", "open /var/tmp/build-#/out#.log"},
		{"LineAndColumn", "main.go:12:7: boom", "main.go:#: boom"},
		{"Address", "cannot reach 10.1.2.3:8080", "cannot reach #"},
		{"QuotedID", `job "nightly-x7" and 'r2d2'`, "job # and #"},
		{"LongMixedID", "call toolu_01A09q90qw90lq9 failed", "call toolu_# failed"},
		{"NamesWithOneNumber", "login2_flow failed", "login#_flow failed"},
		{"Spaces", " a\n\tb  c ", "a b c"},
		{"Nothing", "  ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fingerprint.Normalise(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Each list has wordings of one error.
func TestNormalise_Same(t *testing.T) {
	for _, texts := range [][]string{
		{"cannot link a04d.o", "cannot link 4d.o"},
		{"open /tmp/tmp.Xa8Kd2QzLw: gone", "open /tmp/tmp.qqqWWWeeeR: gone"},
		{"open /tmp/tmpk3j2x9_a/x", "open /tmp/tmpabcdefgh/x"},
		{"open /tmp/build.AbCdEf", "open /tmp/build.XyZwVu"},
		{"pod web-7d9f8b6c5-x2x9z evicted", "pod web-6c5d9f8b7-abcde evicted"},
		{"request req_011C9be4bcfcZ failed", "request req_AbCdEfGhIjK failed"},
		{"no mailbox bob7@example.com", "no mailbox amy.lee@mail.example.org"},
		{"dial [2001:db8::1]:443: refused", "dial [2001:db8:0:0:0:0:2:1]:443: refused"},
		{"dial 2001:db8::1 refused", "dial 2001:db8:0:0:0:0:2:1 refused"},
		{"took 30s", "took 1m30s", "took 90 seconds"},
		{"Nov 22 15:04:05 boom", "Dec  1 05:04:05 boom"},
		{"at Mon, 22 Nov 2026 15:04:05 GMT", "at Tue, 01 Dec 2026 05:04:59 GMT"},
		{"\x1b[31mboom\x1b[0m", "boom"},
		{"used 12 MiB of 1.5GiB", "used 900KB of 2 GB"},
		{"in /r/.claude/worktrees/brave-owl/x", "in /r/.claude/worktrees/calm-fox/x"},
		{"dirty: repo/worktree-17", "dirty: repo/worktree-feature-x"},
	} {
		for _, text := range texts[1:] {
			if a, b := fingerprint.Normalise(texts[0]), fingerprint.Normalise(text); a != b {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
}

// Each list has errors that differ.
func TestNormalise_Different(t *testing.T) {
	for _, texts := range [][]string{
		{"exit code 1", "exit code 137", "exit status 2"},
		{"exited with code 1", "exited with code 137"},
		{"HTTP 404", "HTTP 500"},
		{"status code 404 for /x", "status code 500 for /x"},
		{"GET /x: 404 not found", "GET /x: 403 forbidden"},
		{"CVE-2025-1234 in openssl", "CVE-2025-1235 in openssl"},
		{"SQLSTATE 23505", "SQLSTATE 42P01", "SQLSTATE[40001]"},
		{"error[E0502]: cannot borrow", "error[E0382]: cannot borrow"},
		{"a.ts(3,1): error TS2345: no", "a.ts(3,1): error TS2322: no"},
		{"requires Python 3.11", "requires Python 3.12"},
		{"TestCase1 failed", "TestCase2 failed"},
	} {
		forms := map[string]string{}
		for _, text := range texts {
			form := fingerprint.Normalise(text)
			if other, found := forms[form]; found {
				t.Errorf("%q and %q both give %q", text, other, form)
			}
			forms[form] = text
		}
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add("checkout of 3f5a9c1b2d took 31s at 10:02:11 in /a/1/b")
	f.Add(strings.Repeat("9a ", 2000))
	f.Add("'1\"`2' \u2028 \xff İ ǅ \ue003")
	f.Fuzz(func(t *testing.T, text string) {
		form := fingerprint.Normalise(text)
		if n := utf8.RuneCountInString(form); n > 300 || strings.ContainsAny(form, "\n\x1b") {
			t.Errorf("%d characters: %q", n, form)
		}
		if spaced := fingerprint.Normalise("  " + strings.ReplaceAll(text, " ", "  ")); spaced != form && len(text) < 1000 {
			t.Errorf("%q, with other spaces %q", form, spaced)
		}
	})
}

func TestIdentity_ClassWithNumber(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"task_8f3a9c1b2d_failed", "task_11aa22bb33_failed", true},
		{"parse_error_8f3a9c1b2d", "parse_error_11aa22bb33", true},
		{"HTTP404Error", "HTTP500Error", false},
		{"E1101", "E1136", false},
	} {
		if a, b := fingerprint.Identity(tt.a, "boom"), fingerprint.Identity(tt.b, "boom"); (a == b) != tt.same {
			t.Errorf("%q and %q", a, b)
		}
	}
}
