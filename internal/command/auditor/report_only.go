package auditor

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func (v verification) options(cmd *cobra.Command, shared *cli.Shared) (verifier.Options, error) {
	v.only.file = v.file
	only, err := v.only.find(cmd, shared)
	return verifier.Options{
		Silence: v.silence, RequireTrusted: v.requireTrusted, RequireEnrolled: v.requireEnrolled, AllowAcknowledged: v.allowKnown,
		Run: only.Run, From: only.From, To: only.To,
	}, cmp.Or(checkMaxAge(cmd, v.maxAge), checkKey(v.key), findLedger(shared.DataDir, shared.TenantOrDefault(), v.file), err)
}

func (v verification) foundNothing(opts verifier.Options, r verifier.Report) error {
	if v.only.run == "" || r.Integrity != verifier.Verified || !r.IsOfNothing() {
		return nil
	}
	return nothingChosen(r.Tenant, ledger.Selection{Run: opts.Run, From: opts.From, To: opts.To})
}

func (l lines) only(r verifier.Report) {
	if text := onlyText(r); text != "" {
		l.print("Only", "", text+": completeness is about nothing else, integrity about the whole ledger")
	}
}

func onlyText(r verifier.Report) string {
	var parts []string
	if r.Run != "" {
		parts = append(parts, "run "+r.Run)
	}
	if !r.From.IsZero() {
		parts = append(parts, "stored from "+r.From.Format(time.RFC3339))
	}
	if !r.To.IsZero() {
		parts = append(parts, "stored before "+r.To.Format(time.RFC3339))
	}
	return strings.Join(parts, ", ")
}
