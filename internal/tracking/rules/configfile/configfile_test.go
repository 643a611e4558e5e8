package configfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/configfile"
)

func TestRead_Default(t *testing.T) {
	for _, text := range []string{configfile.Default(), "", "# nothing\n", "---\n"} {
		got, err := configfile.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rules.DefaultConfig(), got); diff != "" {
			t.Errorf("configuration of %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParse_Values(t *testing.T) {
	got, err := configfile.Parse([]byte("hold: 5s\nregression: 14d\ntracked: [REVIEW]\nstorm:\n  most: 2\n  within: 1h30m\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := rules.DefaultConfig()
	want.Grace, want.Regression, want.Tracked = 5*time.Second, 14*24*time.Hour, []string{"REVIEW"}
	want.Storm = rules.Limit{Most: 2, Within: 90 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if got.Hash() == rules.DefaultConfig().Hash() {
		t.Error("another configuration has the hash of the default one")
	}
}

func TestParse_Errors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"UnknownName", "hold: 5s\nholt: 6s\n", `2:1: unknown name "holt"`},
		{"UnknownNameInSection", "storm:\n  least: 1\n", `2:3: unknown name "storm.least"`},
		{"NoDuration", "hold: soon\n", "1:7: hold: want a time like 30s, 10m, 2h or 7d"},
		{"NegativeDuration", "hold: -5s\n", "1:7: hold: want a time like 30s, 10m, 2h or 7d"},
		{"NoNumber", "storm:\n  most: many\n", "2:9: storm.most: want a whole number of 0 or more"},
		{"TooSmall", "complexity: 0\n", "1:13: complexity: want a whole number of 1 or more"},
		{"NoList", "tracked: RESOLVE\n", "1:10: tracked: want a list of at most 200 words"},
		{"NoSection", "storm: 5\n", "1:8: want names and values"},
		{"Twice", "hold: 5s\nhold: 6s\n", "2:1: not a name, or a repeated name"},
		{"TwoDocuments", "hold: 5s\n---\nhold: 6s\n", "a second document"},
		{"NotYAML", "hold: [\n", "not YAML"},
		{"NotText", "\xff", "1:1: not UTF-8 text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := configfile.Parse([]byte(tt.text))
			if _, ok := errors.AsType[*configfile.Error](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(configfile.Default()))
	f.Add([]byte("hold: 5s\nstorm: {most: 2}\n"))
	f.Add([]byte("a: &a [*a]\nhold: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := configfile.Parse(data)
		if err != nil {
			if e, ok := errors.AsType[*configfile.Error](err); !ok || e.Line < 1 || e.Column < 1 {
				t.Errorf("error without a position: %v", err)
			}
			return
		}
		if c.Complexity < 1 || c.Grace < 0 || c.Storm.Most < 0 || c.Storm.Within < 1 || c.Loop < 1 || c.Hash() == "" {
			t.Errorf("unusable: %+v", c)
		}
	})
}
