package metrics

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// exposed makes a label value printable. Different values must stay different, because Prometheus
// rejects two equal series.
func exposed(value string) string {
	if !strings.ContainsRune(value, '\\') {
		return termtext.Printable(value)
	}
	return termtext.Printable(strings.ReplaceAll(value, `\`, `\\`))
}

func exposedAll(values []string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = exposed(v)
	}
	return all
}

const minToken = 16

// Access decides who may read the metrics of a tenant. The zero Access allows everyone.
type Access struct {
	// TokenFile contains bearer tokens, one per line. "tenant NAME TOKEN" gives access to the
	// series of one tenant, and "TOKEN" to those of all tenants. A client without a token only sees
	// the state of the services. The file may change while the service runs. Other users must not
	// be able to read it.
	TokenFile string
}

// Validate returns an error if the token file cannot be used.
func (a Access) Validate() error {
	if a.TokenFile == "" {
		return nil
	}
	_, err := a.readers()
	return err
}

type reader struct {
	token  string
	tenant string // the only visible tenant; empty means none or all
	all    bool
}

func (a Access) readers() ([]reader, error) {
	info, err := os.Stat(a.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("--metrics-token: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("--metrics-token: %s: other users may read or change it; run chmod 600", a.TokenFile)
	}
	data, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("--metrics-token: %w", err)
	}
	list, err := parseReaders(string(data))
	if err != nil {
		return nil, fmt.Errorf("--metrics-token: %s: %w", a.TokenFile, err)
	}
	return list, nil
}

func parseReaders(text string) (list []reader, err error) {
	for number, line := range strings.Split(strings.TrimSpace(text), "\n") {
		r := reader{token: strings.TrimSpace(line), all: true}
		if rest, ok := strings.CutPrefix(r.token, "tenant "); ok {
			tenant, token, _ := strings.Cut(strings.TrimSpace(rest), " ")
			r = reader{token: strings.TrimSpace(token), tenant: tenant}
		}
		if !r.all && r.tenant == "" || len(r.token) < minToken {
			return nil, fmt.Errorf("line %d is not TOKEN or tenant NAME TOKEN, or the token is shorter than %d characters", number+1, minToken)
		}
		list = append(list, r)
	}
	return list, nil
}

var errToken = errors.New("the bearer token is not valid")

func (a Access) readerOf(r *http.Request) (found reader, err error) {
	if a.TokenFile == "" {
		return reader{all: true}, nil
	}
	list, err := a.readers()
	if err != nil {
		return reader{}, err
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return reader{}, nil
	}
	scheme, got, _ := strings.Cut(header, " ")
	theirs := sha256.Sum256([]byte(strings.TrimSpace(got)))
	err = errToken
	for _, known := range list {
		ours := sha256.Sum256([]byte(known.token))
		if subtle.ConstantTimeCompare(ours[:], theirs[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
			found, err = known, nil
		}
	}
	return found, err
}

// Handler serves the metrics that registry contains in the Prometheus formats. It shows each client
// only the metrics that a permits.
func (a Access) Handler(registry prometheus.Gatherer) http.Handler {
	opts := promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch from, err := a.readerOf(r); {
		case errors.Is(err, errToken):
			w.Header().Set("WWW-Authenticate", `Bearer realm="hooktrail metrics"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil:
			http.Error(w, "the token cannot be checked at present", http.StatusServiceUnavailable)
		default:
			promhttp.HandlerFor(from.seesOf(registry), opts).ServeHTTP(w, r)
		}
	})
}

func (r reader) seesOf(registry prometheus.Gatherer) prometheus.Gatherer {
	if r.all {
		return registry
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := registry.Gather()
		for _, f := range families {
			f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool {
				tenant, ok := tenantOf(m)
				return ok && (r.tenant == "" || tenant != exposed(r.tenant))
			})
		}
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return len(f.GetMetric()) == 0 }), err
	})
}

func tenantOf(m *dto.Metric) (tenant string, ok bool) {
	for _, l := range m.GetLabel() {
		if l.GetName() == "tenant" {
			return l.GetValue(), true
		}
	}
	return "", false
}
