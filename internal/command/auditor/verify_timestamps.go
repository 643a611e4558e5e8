package auditor

import (
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

const tsaUsage = "PEM `file` with the certificates that you trust for time stamps, those of the authority's CA; requires a good time stamp"

// Call askTimeStamps before reading the ledger. Otherwise, a new time stamp could cover records
// that were not read.
func (v verification) askTimeStamps(opts *verifier.Options, shared *cli.Shared) (err error) {
	if opts.TSA, err = v.tsaRoots(); err != nil {
		return err
	}
	path, err := ledgerPath(shared.DataDir, shared.TenantOrDefault(), v.file)
	if err != nil {
		return err
	}
	opts.Stamps, err = timestamp.All(path)
	return err
}

func (v verification) tsaRoots() (*x509.CertPool, error) {
	if v.tsaCert == "" {
		return nil, nil
	}
	text, err := os.ReadFile(v.tsaCert)
	if err != nil {
		return nil, fmt.Errorf("--tsa-cert: %w", err)
	}
	roots, err := timestamp.Roots(text)
	if err != nil {
		return nil, cli.Usage("--tsa-cert %s: %w", v.tsaCert, err)
	}
	return roots, nil
}

func (l lines) timeStamps(t *verifier.TimeStamps) {
	if t == nil {
		return
	}
	var texts []string
	word, paint := "GOOD", l.palette.Good
	switch {
	case t.DivergedCount > 0:
		word, paint = fmt.Sprintf("DIVERGED (%d)", t.DivergedCount), l.palette.Bad
	case t.BadCount > 0:
		word, paint = fmt.Sprintf("BAD (%d)", t.BadCount), l.palette.Bad
	case !t.Checked:
		word, paint = "NOT CHECKED", l.palette.Warn
		texts = append(texts, plural(int64(t.Stored), "time stamp", "time stamps")+" stored: name the certificates of the authority with --tsa-cert")
	case t.Good == 0:
		word, paint = "NOT FOUND", l.palette.Warn
		texts = append(texts, "there is no time stamp, and --tsa-cert requires one")
	}
	if n := t.Newest; n != nil {
		texts = append(texts, fmt.Sprintf("%s existed at %s at the latest, by %s; %s good, %s later",
			plural(n.Size, "leaf", "leaves"), n.Latest.UTC().Format(time.RFC3339), n.By,
			plural(int64(t.Good), "time stamp", "time stamps"), plural(n.Behind, "leaf", "leaves")))
	}
	for _, d := range t.Diverged {
		texts = append(texts, stampText(d))
	}
	for _, b := range t.Bad {
		texts = append(texts, stampText(b))
	}
	l.print("Time stamps", l.verdict(word, paint), texts[0])
	for _, text := range texts[1:] {
		l.print("", "  ", text)
	}
}

func stampText(b verifier.BadTimeStamp) string {
	if b.Name == "" {
		return b.Reason
	}
	return b.Name + ": " + b.Reason
}
