package fingerprint_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"
)

func TestNormalise_TemporaryNames(t *testing.T) {
	for _, group := range [][]string{
		{"cannot open /tmp/wt-qa_cmsbd/a.c", "cannot open /tmp/wt-3r638f60/a.c", "cannot open /tmp/wt-kvzqtrxm/a.c"},
		{"no space in /tmp/build.x7Kd2pQa", "no space in /tmp/build.Zk9aLmQr", "no space in /tmp/build.aB3dE6fG"},
		{"rm /var/tmp/job-9af31c02/out", "rm /var/tmp/job-77b0de41/out", "rm /var/tmp/job-0c0ffe91/out"},
	} {
		for _, text := range group[1:] {
			if a, b := fingerprint.Normalise(group[0]), fingerprint.Normalise(text); a != b {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
	for _, pair := range [][2]string{
		{"cannot open /tmp/app-staging/a.c", "cannot open /tmp/app-release/a.c"},
		{"cannot open /tmp/build_out/a.c", "cannot open /tmp/golden_in/a.c"},
		{"log4j-core 2.14.1 is vulnerable", "log4j-core 2.13.3 is vulnerable"},
		{"needs libfoo>=1.2.3", "needs libfoo>=1.3.0"},
		{"chart v4.10.2 not found", "chart v4.11.0 not found"},
	} {
		if a, b := fingerprint.Normalise(pair[0]), fingerprint.Normalise(pair[1]); a == b {
			t.Errorf("both are %q", a)
		}
	}
	for _, pair := range [][2]string{
		{"connect to 10.0.0.12 refused", "connect to 10.2.14.7 refused"},
		{"report of 02.03.2026 is empty", "report of 14.11.2026 is empty"},
		{"took 4.21 of 9", "took 3.17 of 8"},
	} {
		if a, b := fingerprint.Normalise(pair[0]), fingerprint.Normalise(pair[1]); a != b {
			t.Errorf("%q and %q", a, b)
		}
	}
}

func TestByPerson_Approvals(t *testing.T) {
	for text, want := range map[string]bool{
		"Approval denied by m.kral@bank.example: not during quarter close": true,
		"Permission was refused by @oncall-ana":                            true,
		"deploy request rejected by the on-call engineer: freeze":          true,
		"User declined the tool call":                                      true,
		"plan rejected by a human":                                         true,
		"approval denied by policy no-prod-write":                          false,
		"request denied by admission webhook \"limits\"":                   false,
		"change rejected by REVIEWER: missing tests":                       false,
		"request refused by 10.0.0.3":                                      false,
	} {
		if got := fingerprint.ByPerson("", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
