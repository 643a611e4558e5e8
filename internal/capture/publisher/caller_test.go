package publisher

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

const (
	structuredType = "application/cloudevents+json"
	batchType      = "application/cloudevents-batch+json"
	linesType      = "application/x-ndjson"
)

// The handler of hook payloads gets the tool from the path and the tenant of the
// caller.
func TestHandler_Hooks(t *testing.T) {
	hooks := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.PathValue("tool"), " of ", TenantOf(r.Context()))
	})
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/hooks/codex", http.NoBody)
	w := httptest.NewRecorder()
	Handler(&recorder{}, HandlerOptions{Tenant: "acme", Hooks: hooks}).ServeHTTP(w, r)
	if got, want := w.Body.String(), "codex of acme"; w.Code != http.StatusOK || got != want {
		t.Errorf("got %d %s, want %s", w.Code, got, want)
	}
}

// withTokens returns a handler that requires tokens, and the tokens of two tenants.
func withTokens(tb testing.TB, to Appender, opts HandlerOptions) (h http.Handler, acme, other tokens.Secret) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "tokens.json")
	made := map[string]tokens.Secret{}
	for _, tenant := range []string{"acme", "other"} {
		secret, _, err := tokens.Create(tb.Context(), path, tenant, "")
		if err != nil {
			tb.Fatal(err)
		}
		made[tenant] = secret
	}
	var err error
	if opts.Tokens, err = tokens.Open(path); err != nil {
		tb.Fatal(err)
	}
	return Handler(to, opts), made["acme"], made["other"]
}

// Once tokens exist, a request needs one and acts only for its tenant.
func TestHandler_Tokens(t *testing.T) {
	whose := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, TenantOf(r.Context())) })
	to := &recorder{}
	h, acme, other := withTokens(t, to, HandlerOptions{Hooks: whose, Decisions: whose})
	named := func(tenant string) string {
		return `{"specversion":"1.0","id":"1","source":"s","type":"t","tenant":"` + tenant + `"}`
	}
	for name, tt := range map[string]struct {
		token             tokens.Secret
		path, body, media string
		status            int
		want              string
	}{
		"None":      {"", "/v1/events", one("1"), structuredType, 401, "a bearer token is required"},
		"NoneHook":  {"", "/v1/hooks/codex", "{}", "application/json", 401, "a bearer token is required"},
		"Wrong":     {acme + "x", "/v1/events", one("1"), structuredType, 401, "not valid"},
		"Own":       {acme, "/v1/events", one("1"), structuredType, 202, `"accepted":1`},
		"OwnNamed":  {other, "/v1/events", named("other"), structuredType, 202, `"accepted":1`},
		"Foreign":   {acme, "/v1/events", named("other"), structuredType, 403, `"attribute":"tenant"`},
		"InBatch":   {acme, "/v1/events", "[" + one("1") + "," + named("other") + "]", batchType, 403, `"index":1,"attribute":"tenant","line":1,"offset":56,"accepted":1`},
		"Hook":      {acme, "/v1/hooks/codex", "{}", "application/json", 200, "acme"},
		"Decisions": {other, "/v1/decisions", "{}", "application/json", 200, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			to.list = nil
			w := send(h, tt.token, tt.path, tt.media, tt.body)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
			for _, e := range to.list {
				if e.Tenant == "acme" != (tt.token == acme) {
					t.Errorf("stored as %s's", e.Tenant)
				}
			}
			if challenge := w.Header().Get("WWW-Authenticate"); (w.Code == 401) != (challenge != "") {
				t.Errorf("got challenge %q with %d", challenge, w.Code)
			}
		})
	}
}

func TestHandler_TokenOfOtherTenant(t *testing.T) {
	h, acme, other := withTokens(t, &recorder{}, HandlerOptions{Tenant: "acme"})
	if w := send(h, acme, "/v1/events", structuredType, one("1")); w.Code != http.StatusAccepted {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := send(h, other, "/v1/events", structuredType, one("1")); w.Code != http.StatusForbidden {
		t.Errorf("got %d %s, want 403", w.Code, w.Body)
	}
}

// FuzzHandler_Tenant checks that every stored event has the tenant of the token.
func FuzzHandler_Tenant(f *testing.F) {
	for _, mode := range []string{structuredType, batchType, linesType, "application/json", "text/plain"} {
		f.Add(mode, "other", "1", []byte(`{"specversion":"1.0","id":"1","source":"s","type":"t","tenant":"other"}`))
		f.Add(mode, "", "x.>", []byte(`[{"specversion":"1.0","id":"1","source":"s","type":"t","tenant":"\u0061cme"},{"tenant":"other"}]`))
		f.Add(mode, "acme", "*", []byte(`{"specversion":"1.0","id":"1","source":"s","type":"t","Tenant":"other","runid":"other.>"}`))
	}
	to := &recorder{}
	h, acme, _ := withTokens(f, to, HandlerOptions{})
	f.Fuzz(func(t *testing.T, contentType, tenant, id string, body []byte) {
		to.list = nil
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/events?tenant=other", strings.NewReader(string(body)))
		r.Header = http.Header{
			"Content-Type": {contentType}, "Authorization": {"Bearer " + acme.Reveal()},
			"Ce-Specversion": {"1.0"}, "Ce-Source": {"s"}, "Ce-Type": {"t"}, "Ce-Id": {id}, "Ce-Runid": {id}, "Ce-Tenant": {tenant},
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		for _, e := range to.list {
			if e.Tenant != "acme" {
				t.Fatalf("stored %s", e.Encode())
			}
		}
	})
}
