package publisher

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A token counts only in the header Authorization, and its tenant counts whatever else a request
// names. Names of headers and of the scheme have any case.
func TestHandler_HostileRequests(t *testing.T) {
	to := &recorder{}
	var log bytes.Buffer
	h, acme, other := withTokens(t, to, HandlerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	srv := httptest.NewServer(h)
	defer srv.Close()
	body := one("x")
	ask := func(path string, headers ...string) (int, string) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n\r\n%s", path, len(body), strings.Join(headers, "\r\n"), body)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	const event = "content-TYPE: " + structuredType
	token := acme.Reveal()
	binary := []string{"CE-SPECVERSION: 1.0", "ce-id: x", "Ce-Source: s", "cE-tYPE: t", "Content-Type: text/plain"}
	for _, tt := range []struct {
		name    string
		path    string
		headers []string
		status  int
	}{
		{"None", "/v1/events", []string{event}, 401},
		{"Query", "/v1/events?access_token=" + token + "&token=" + token, []string{event}, 401},
		{"Cookie", "/v1/events", []string{event, "Cookie: token=" + token}, 401},
		{"UserOfTheURL", "/v1/events", []string{event, "Authorization: Basic " + token}, 401},
		{"SecondHeader", "/v1/events", []string{event, "Authorization: Bearer no", "Authorization: Bearer " + token}, 401},
		{"Cut", "/v1/events", []string{event, "Authorization: Bearer " + token[:len(token)-1]}, 401},
		{"Prefixed", "/v1/events", []string{event, "Authorization: Bearer " + token + "," + other.Reveal()}, 401},
		{"AnyCase", "/v1/events", []string{event, "aUTHORIZATION: bEARER " + token}, 202},
		{"TenantHeader", "/v1/events", []string{event, "Authorization: Bearer " + token, "Tenant: other", "X-Tenant: other", "Hooktrail-Tenant: other"}, 202},
		{"TenantQuery", "/v1/events?tenant=other", []string{event, "Authorization: Bearer " + token}, 202},
		{"Binary", "/v1/events", append(binary, "Authorization: Bearer "+token), 202},
		{"TenantOfOthers", "/v1/events", append(binary, "cE-tENANT: other", "Authorization: Bearer "+token), 403},
		{"UnknownHeaders", "/v1/events", append(binary, "Ce-Unknown: 1", "Hooktrail-Begin: x", "Authorization: Bearer "+token), 202},
		{"OtherPath", "/v1/events/../livez", []string{event, "Authorization: Bearer " + token}, 307},
		{"NoSuchPath", "/v1/events/all", []string{event, "Authorization: Bearer " + token}, 404},
	} {
		before := len(to.list)
		status, said := ask(tt.path, tt.headers...)
		if status != tt.status || (len(to.list) > before) != (tt.status == 202) {
			t.Errorf("%s: got %d %s, %d events", tt.name, status, said, len(to.list)-before)
		}
		if strings.Contains(said+log.String(), token) {
			t.Errorf("%s: the token is in the response or the log", tt.name)
		}
		for _, e := range to.list[before:] {
			if e.Tenant != "acme" || e.User != "" {
				t.Errorf("%s: recorded for tenant %q, user %q", tt.name, e.Tenant, e.User)
			}
		}
	}
}

// A reserved kind in another spelling is refused, or recorded as a kind that nobody acts on.
//
//guarantee:reserved-kinds
func TestHandler_SpellingsOfReservedKinds(t *testing.T) {
	for _, kind := range reserved {
		for _, spelled := range []string{
			strings.ToUpper(kind.Type()), " " + kind.Type(), kind.Type() + " ", kind.Type() + "\x00", "hooktrail.hooktrail." + string(kind),
			kind.Type() + ".", strings.Replace(kind.Type(), ".", "..", 1), strings.Replace(kind.Type(), "i", "ı", 1), kind.Type() + "\u200b",
		} {
			to := &recorder{}
			body := fmt.Sprintf(`{"specversion":"1.0","id":"e","source":"s","type":%q,"data":{}}`, spelled)
			if strings.Contains(spelled, "\x00") {
				body = strings.Replace(body, `\x00`, `\u0000`, 1)
			}
			w := send(Handler(to, HandlerOptions{}), "", "/v1/events", structuredType, body)
			if w.Code != http.StatusBadRequest && w.Code != http.StatusAccepted {
				t.Errorf("%q: got %d %s", spelled, w.Code, w.Body)
			}
			for _, e := range to.list {
				for _, known := range reserved {
					if e.Kind() == known || events.KindOf(strings.ToLower(strings.TrimSpace(e.Type))) == known && e.Kind() != events.KindOf(e.Type) {
						t.Errorf("%q: recorded as %q", spelled, e.Kind())
					}
				}
			}
		}
		for _, twice := range []string{
			`{"specversion":"1.0","id":"e","source":"s","type":"t","type":"` + kind.Type() + `","data":{}}`,
			`{"specversion":"1.0","id":"e","source":"s","type":"t","Type":"` + kind.Type() + `","data":{}}`,
			`{"specversion":"1.0","id":"e","source":"s","type":"` + kind.Type() + `","type":"t","data":{}}`,
			`{"specversion":"1.0","id":"e","source":"s","t\u0079pe":"` + kind.Type() + `","data":{}}`,
		} {
			to := &recorder{}
			w := send(Handler(to, HandlerOptions{}), "", "/v1/events", structuredType, twice)
			if w.Code != http.StatusBadRequest || len(to.list) > 0 {
				t.Errorf("%s: got %d, %d events", twice, w.Code, len(to.list))
			}
		}
	}
}
