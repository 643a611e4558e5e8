package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const rounds = 9 // odd, so that the median is one of them

func median[T float64 | time.Duration](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// samples are clean texts of 4 KB. Prose contains few keywords of rules. A log contains many, and
// text that matches expressions but is no secret.
var samples = map[string]string{
	"prose": repeat("The run began with a plan, and they agreed on three steps: read the failing test, find the cause, mend it. " +
		"Nothing was written before the plan was approved. The second step took longer than the others.\n"),
	"code": repeat("func (s *Server) authorize(token string, key []byte) error {\n\tif s.apiKey == nil || len(token) == 0 {\n" +
		"\t\treturn errors.New(\"access denied: no credential\")\n\t}\n\tsecret := hmac.New(sha256.New, key)\n\treturn s.accept(secret.Sum(nil))\n}\n"),
}

func repeat(s string) string { return strings.Repeat(s, 4096/len(s)+1)[:4096] }

// BenchmarkText compares a redactor with one bare regular expression per rule. The goal is 0.01.
func BenchmarkText(b *testing.B) {
	r := mustNew(b, Options{})
	for _, d := range r.secrets.rules {
		d.once.Do(d.compile)
	}
	for _, name := range []string{"prose", "code"} {
		b.Run(name, func(b *testing.B) {
			text := samples[name]
			var ratios []float64
			var took []time.Duration
			for b.Loop() {
				for range rounds {
					const limits, times = 2, 50
					start := time.Now()
					matches := 0
					for range limits {
						for _, d := range r.secrets.rules {
							matches += len(d.pattern.FindAllStringIndex(text, -1))
						}
					}
					limit := time.Since(start) / limits
					start = time.Now()
					for range times {
						if got, spans := r.Text(text); len(spans) > 0 || got != text {
							b.Fatalf("found %v", spans)
						}
					}
					each := time.Since(start) / times
					took, ratios = append(took, each), append(ratios, float64(each)/float64(limit))
				}
			}
			b.ReportMetric(median(ratios), "redact/regexes")
			b.ReportMetric(float64(median(took).Nanoseconds()), "ns/text")
			b.Logf("redact/regexes median %.5f, from %.5f to %.5f; %v each", median(ratios), slices.Min(ratios), slices.Max(ratios), median(took))
		})
	}
}

func BenchmarkRedact(b *testing.B) {
	r := mustNew(b, Options{})
	for name, text := range samples {
		b.Run(name, func(b *testing.B) {
			data, err := json.Marshal(map[string]any{"tool": "Bash", "status": "success", "result": map[string]any{"stdout": text, "stderr": ""}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				e := events.Event{Data: data}
				if err := r.Redact(&e); err != nil || &e.Data[0] != &data[0] {
					b.Fatal(err, "or something was found")
				}
			}
		})
	}
}
