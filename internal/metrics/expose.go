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

// exposed returns a label value without characters that control a terminal or deceive a
// reader. Different values stay different, because Prometheus rejects equal series.
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

// minToken is the smallest number of bytes of a token.
const minToken = 16

// Access decides who may read the series of tenants. The zero Access lets every client
// read everything.
type Access struct {
	// TokenFile contains the bearer token of a reader who may see the series of all
	// tenants. Others see the state of the services only. The file may be replaced while
	// the service runs. Other users must not be able to read it.
	TokenFile string
}

// Validate reports an unusable token file.
func (a Access) Validate() error {
	if a.TokenFile == "" {
		return nil
	}
	_, err := a.token()
	return err
}

func (a Access) token() (string, error) {
	info, err := os.Stat(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("--metrics-token: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("--metrics-token: %s: other users may read or change it; run chmod 600", a.TokenFile)
	}
	data, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("--metrics-token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken {
		return "", fmt.Errorf("--metrics-token: %s: the token is shorter than %d characters", a.TokenFile, minToken)
	}
	return token, nil
}

var errToken = errors.New("the bearer token is not valid")

// mayReadTenants returns errToken for a wrong token.
func (a Access) mayReadTenants(r *http.Request) (bool, error) {
	if a.TokenFile == "" {
		return true, nil
	}
	want, err := a.token()
	if err != nil {
		return false, err
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return false, nil
	}
	scheme, got, _ := strings.Cut(header, " ")
	ours, theirs := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(strings.TrimSpace(got)))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(ours[:], theirs[:]) != 1 {
		return false, errToken
	}
	return true, nil
}

// Handler returns a handler that serves the metrics of registry in the formats of Prometheus.
func (a Access) Handler(registry prometheus.Gatherer) http.Handler {
	opts := promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError}
	all := promhttp.HandlerFor(registry, opts)
	services := promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := registry.Gather()
		return slices.DeleteFunc(families, ofTenants), err
	}), opts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch may, err := a.mayReadTenants(r); {
		case errors.Is(err, errToken):
			w.Header().Set("WWW-Authenticate", `Bearer realm="hooktrail metrics"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil:
			http.Error(w, "the token cannot be checked at present", http.StatusServiceUnavailable)
		case may:
			all.ServeHTTP(w, r)
		default:
			services.ServeHTTP(w, r)
		}
	})
}

// ofTenants reports whether a family has the label tenant.
func ofTenants(family *dto.MetricFamily) bool {
	return slices.ContainsFunc(family.GetMetric(), func(m *dto.Metric) bool {
		return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "tenant" })
	})
}
