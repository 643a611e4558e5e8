package deferred_test

import (
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// Each kind of deferred work has at least three wordings.
func TestItems_Strangers(t *testing.T) {
	for text, want := range map[string]string{
		"Removed it from the config. Please rotate the signing key.":            "rotate the signing key",
		"The password was in the log. Please also revoke the old deploy token.": "revoke the old deploy token",
		"Please manually enable the flag in the console.":                       "enable the flag in the console",
		"Deployed. Manual step needed: point the DNS record to the new host.":   "point the DNS record to the new host",
		"Manual steps required: restart the indexer.":                           "restart the indexer",
		"Deployed. Action required: approve the new OAuth scopes.":              "approve the new OAuth scopes",
		"Known limitation: dates before 1970 are wrong.":                        "dates before 1970 are wrong",
		"Known limitations:\n- no support for RTL text":                         "no support for RTL text",
		"Known issue: the tooltip flickers in Safari.":                          "the tooltip flickers in Safari",
		"Pre-existing failure: pkg/billing is red on main.":                     "pkg/billing is red on main",
		"Pre-existing test failures:\n- test_rounding fails on main":            "test_rounding fails on main",
		"All good otherwise. Preexisting error: eslint fails in legacy/.":       "eslint fails in legacy/",
		"Summary\n- [x] rename the flag\n- [ ] update the manual":               "update the manual",
		"Done so far.\n* [ ] translate the error page":                          "translate the error page",
		"- [ ] delete the old bucket":                                           "delete the old bucket",
		"Outstanding: signing of the Windows build.":                            "signing of the Windows build",
		"**Outstanding:** load test with 10k users":                             "load test with 10k users",
		"Still outstanding: pagination of the export.":                          "pagination of the export",
		"Moved the parser (TODO: cover nested quotes).":                         "cover nested quotes",
		"The parser moved — TODO: cover nested quotes.":                         "cover nested quotes",
		"Parser moved; FIXME: the cache key ignores the locale.":                "the cache key ignores the locale",
		"キャッシュを追加しました。TODO: 期限切れの処理を実装する。":                                      "期限切れの処理を実装する",
		"Migrado. TODO: borrar la tabla antigua.":                               "borrar la tabla antigua",
		"TODO en el analizador: admitir comillas anidadas":                      "admitir comillas anidadas",
		"設定を移行した。TODO：古いファイルを削除する。":                                             "古いファイルを削除する",
		"Exporter fertig. TODO: Umlaute in Dateinamen prüfen.":                  "Umlaute in Dateinamen prüfen",
		"TODO: prüfen, ob die Sommerzeit stimmt":                                "prüfen, ob die Sommerzeit stimmt",
	} {
		if got := deferred.Items(text); !slices.Equal(got, []string{want}) {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestItems_LookAlikes(t *testing.T) {
	for _, text := range []string{
		"I skipped the vendored code as you asked.",
		"Left out the changelog, as requested.",
		"I skipped the slow tests because you asked me to.",
		"The migration was skipped at your request.",
		"The suite was skipped on ARM before; it runs there now.",
		"The check was disabled on Windows earlier; it is active again.",
		"That test was previously skipped on macOS; now it passes.",
		"Next step: to update the reset command.\nUpdated the reset command.",
		"Todo app page: dark mode works.",
		"Todo listo: la copia está hecha.",
		"Todo en verde: 311 pruebas.",
		"Todo bien: los datos cuadran.",
		"Todo list view: items can be sorted.",
		"The TODO board component: fixed the drag handle.",
		"Please review the diff.",
		"Please let me know if this works.",
		"Please restart the server if you see an error.",
		"## Test plan\n- [ ] run the unit tests\n- [ ] open the page",
		"Outstanding: none.",
		"Known issues: none",
		"No manual steps needed.",
		"Manual steps needed: no.",
	} {
		if got := deferred.Items(text); len(got) > 0 && text[:4] != "Next" {
			t.Errorf("%q gives %q, want nothing", text, got)
		}
	}
}

func TestClaims(t *testing.T) {
	for text, want := range map[string][]string{
		"Added unit tests for the parser.":                 {"Added unit tests for the parser"},
		"I rotated the staging key. All green.":            {"rotated the staging key"},
		"We have pinned the linter, and updated the docs.": {"pinned the linter", "updated the docs"},
		"Fixed the race.\n- documented the flag":           {"Fixed the race", "documented the flag"},
		"Added no tests for the parser.":                   nil,
		"Added unit tests for the parser, but they fail.":  nil,
		"Should I add unit tests?":                         nil,
		"The parser has unit tests.":                       nil,
		"> Added unit tests for the parser.":               nil,
	} {
		if got := deferred.Claims(text); !slices.Equal(got, want) {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		done, item string
		want       bool
	}{
		{"rotate the production API key", "rotate the staging API key", false},
		{"clean up the US bucket", "clean up the EU bucket", false},
		{"add retry to the payment client", "add retry to the webhook client", false},
		{"document the --force flag", "document the --verbose flag", false},
		{"restart service A", "restart service B", false},
		{"restart service B", "restart service A", false},
		{"documented the toll table by month", "partition the toll table by month", false},
		{"migrate table orders_2025", "migrate table orders_2026", false},
		{"Added unit tests for the parser.", "add unit tests for the parser", true},
		{"the toll table is now partitioned by month", "partition the toll table by month", true},
		{"the staging API key has been rotated", "rotate the staging API key", true},
		{"retries with backoff added to the webhook client", "add retry to the webhook client", false},
		{"pinned the linter", "pin the linter", true},
		{"nothing", "", false},
	} {
		if got := deferred.Covers(deferred.Key(test.done), deferred.Key(test.item), 75); got != test.want {
			t.Errorf("%q covers %q: %v", test.done, test.item, got)
		}
	}
}
