package publisher

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func TestDocs_HTTP(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	to := &recorder{fail: map[string]error{"2": publish.ErrDuplicate}}
	h := Handler(to, HandlerOptions{})
	for name, tt := range map[string]struct{ body, want string }{
		"Accepted": {"[" + one("1") + "," + one("2") + "," + one("3") + "]", `{"accepted":3,`},
		"Refused":  {"[\n" + one("1") + ",\n" + one("3") + ",\n" + `{"specversion":"0.3"}]`, `{"type":"about:blank"`},
	} {
		w := send(h, "", "/v1/events", batchType, tt.body)
		_, rest, _ := strings.Cut(string(page), "```json\n"+tt.want)
		told, _, ok := strings.Cut(tt.want+rest, "```")
		if diff := cmp.Diff(members(t, told), members(t, w.Body.String())); diff != "" || !ok {
			t.Errorf("%s (-docs +got):\n%s", name, diff)
		}
	}
	_, example, _ := strings.Cut(string(page), "-d '")
	example, _, _ = strings.Cut(example, "'\n")
	if w := send(h, "", "/v1/events", structuredType, example); w.Code != http.StatusAccepted || to.list[len(to.list)-1].Kind() != events.RunStarted {
		t.Errorf("the first example: got %d %s", w.Code, w.Body)
	}
}

func members(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}
