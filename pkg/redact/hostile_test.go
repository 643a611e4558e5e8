package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The properties of FuzzText also hold for texts with secrets of all rules.
//
//guarantee:secrets
func TestText_Secrets(t *testing.T) {
	r, texts := mustNew(t, Options{}), secretText(t)
	rapid.Check(t, func(rt *rapid.T) {
		checkText(t, r, texts.Draw(rt, "text"))
		if t.Failed() {
			rt.FailNow()
		}
	})
}

var hostile = map[string]string{
	"Keywords":       "key",
	"Assignments":    "key=",
	"Long":           "key=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"Found":          "key=a9f8g7h6j5k4l3m2n1b0v\n",
	"FoundOnOneLine": "key=a9f8g7h6j5k4l3m2n1b0v ",
	"Returns":        "key=a9f8g7h6j5k4l3m2n1b0v\r",
	"JWT":            "ey",
	"Curl":           "curl -u a ",
	"CurlLines":      "curl\n",
	"PEM":            "-----BEGIN PRIVATE KEY-----",
	"PEMOpen":        "-----BEGIN",
	"Vault":          "s.",
	"Ats":            "@",
	"Mails":          "a@b.cd",
	"Labels":         "a@a.a.a.a.a.a.a.a.1",
	"Digits":         "4",
	"Groups":         "4111 ",
	"GroupsDashes":   "4111-",
	"Plus":           "+1 ",
	"Dots":           "1.",
	"Colons":         "2001:",
	"IBAN":           "DE89",
	"Markers":        "[EMAIL_REDACTED]",
	"MarkersAndMore": "key=[EMAIL_REDACTED]a9f8g7h6j5k4l3m2n1b0v@b.cd ",
	"Kubernetes":     "kind: secret data: a: ",
	"Base64":         "QUtJQVo3UVdFUlRZMlhDVkJOTTQ",
	"NotUTF8":        "\xff\xfekey\xff=",
	"LongS":          "ſkey = ",
	"Backslashes":    `\`,
	"Quotes":         `"`,
	"Passwords":      "password=",
	"URLs":           "://a:bc",
	"Commands":       "mysql ",
	"Tokens":         "sk-proj-",
	"Seeds":          "SU",
	"Links":          "\x1b]",
	"ColourEscapes":  `\u001b[`,
	"PrivateKeys":    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq",
}

// grows reports an error if do takes disproportionately long. An input of 16 times the size takes
// 16 times as long if the time is linear, and 256 times if it is quadratic. grows tries three
// times, because other processes can interfere.
func grows(t *testing.T, do func(size int), size int) {
	t.Helper()
	const times, bound = 16, 64
	took := func(size int) time.Duration {
		start := time.Now()
		do(size)
		return time.Since(start)
	}
	var before, after time.Duration
	for range 3 {
		before, after = max(took(size), took(size), time.Millisecond), took(size*times)
		if after < bound*before {
			return
		}
	}
	t.Errorf("%v, and %v for %d times as much", before, after, times)
}

func TestText_Hostile(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes its own time")
	}
	r := mustNew(t, Options{})
	for name, part := range hostile {
		t.Run(name, func(t *testing.T) {
			for _, head := range []string{"\n", "key = '"} {
				grows(t, func(size int) { r.Text(head + strings.Repeat(part, size/len(part))) }, 1<<13)
			}
		})
	}
}

func TestRedact_Hostile(t *testing.T) {
	r := mustNew(t, Options{})
	redact := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		e := events.Event{Data: data}
		if err := r.Redact(&e); err != nil || !json.Valid(e.Data) {
			t.Errorf("no JSON any more: %v", err)
		}
	}
	for name, part := range hostile {
		t.Run(name, func(t *testing.T) {
			redact(map[string]any{"data": strings.Repeat(part, 1<<12/len(part)), part: map[string]any{part: []string{part, part}}})
			if race.Enabled {
				return
			}
			grows(t, func(size int) {
				list := make([]map[string]string, size)
				for i := range list {
					list[i] = map[string]string{part: part + strconv.Itoa(i)}
				}
				redact(list)
			}, 1<<6)
		})
	}
}
