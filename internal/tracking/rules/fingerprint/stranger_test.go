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

func TestNormalise_RandomNames(t *testing.T) {
	for _, group := range [][]string{
		{"container bench-hq7zt1 not ready", "container bench-9dk2wv not ready", "container bench-xkqvzd not ready"},
		{"job load-orders-4tz9p failed", "job load-orders-b7w2k failed", "job load-orders-zzq8x failed"},
		{"volume pvc-data-m3n8c7 is read-only", "volume pvc-data-q9l2r5 is read-only", "volume pvc-data-jxqwzp is read-only"},
		{"\x1b[1;31mjob etl-k2v9x\x1b[0m exited with code 3", "job etl-w8r4d exited with code 3", "job etl-t6y1n exited with code 3"},
	} {
		for _, text := range group[1:] {
			if a, b := fingerprint.Normalise(group[0]), fingerprint.Normalise(text); a != b {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
	for _, group := range [][]string{
		{"service order-checkpoint is down", "service order-postgres is down", "service order-webhook is down", "service order-workflow is down"},
		{"crd app-v1beta1 is gone", "crd app-v1alpha1 is gone"},
		{"build linux-x86 failed", "build linux-arm64 failed"},
		{"image app-k8sctl", "image app-s3sync", "image app-oauth2proxy"},
		{"branch fix-parser is behind", "branch fix-export is behind", "branch fix-strengths is behind"},
	} {
		forms := map[string]string{}
		for _, text := range group {
			form := fingerprint.Normalise(text)
			if other, found := forms[form]; found {
				t.Errorf("%q and %q both give %q", text, other, form)
			}
			forms[form] = text
		}
	}
}

func TestInfrastructure_Accounts(t *testing.T) {
	for text, want := range map[string]string{
		"Credit balance too low, top up to continue":                                           fingerprint.Limited,
		"your credit balance is too low":                                                       fingerprint.Limited,
		"402: credit balance too low for this request":                                         fingerprint.Limited,
		"The refresh token is no longer valid. Sign in again.":                                 fingerprint.Login,
		"the login form keeps the refresh token":                                               "",
		"Your session token has expired; please log in again":                                  fingerprint.Login,
		"access token rejected, run `codex login` to sign in again":                            fingerprint.Login,
		"OAuth token was revoked by the workspace. You have to log in again":                   fingerprint.Login,
		"npm error code E401: unable to authenticate, need: Bearer realm=\"https://reg.test\"": "",
		"the account balance is too low for the test transfer":                                 "",
	} {
		if got := fingerprint.Infrastructure("", text, nil, nil); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestByPerson_RefusalsInAnyLanguage(t *testing.T) {
	for text, want := range map[string]bool{
		"Anfrage von der Teamleitung abgelehnt: erst nach dem Audit": true,
		"Solicitud rechazada por la jefa de turno":                   true,
		"監査が終わるまで不可":                                                 true,
		"policy no-prod-write denied the request":                    false,
		"denied by the admission webhook":                            false,
		"la politique de résidence refuse l'envoi":                   false,
		"the rule four-eyes refused it":                              false,
		"no answer, the request timed out":                           false,
	} {
		if got := fingerprint.ByPerson("approval_denied", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
