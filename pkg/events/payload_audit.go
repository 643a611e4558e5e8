package events

import "time"

// AuditAction is a kind of access to evidence. Later versions may have more of them.
type AuditAction string

// The actions. The first group reads evidence. The others require a signed order.
const (
	AuditReplay   AuditAction = "replay"
	AuditExport   AuditAction = "export"
	AuditProof    AuditAction = "proof"
	AuditCoverage AuditAction = "coverage"
	AuditAccess   AuditAction = "access"
	AuditReport   AuditAction = "report"
	AuditStream   AuditAction = "stream"

	AuditErase  AuditAction = "erase"
	AuditPrune  AuditAction = "prune"
	AuditHold   AuditAction = "hold"
	AuditLift   AuditAction = "lift"
	AuditKey    AuditAction = "key"
	AuditIssuer AuditAction = "issuer" // trust the grants of an issuer
	AuditRevoke AuditAction = "revoke" // trust no later grants of an issuer

	AuditFloor       AuditAction = "floor"       // keep younger records when pruning
	AuditApprovers   AuditAction = "approvers"   // require the approval of a second person
	AuditAcknowledge AuditAction = "acknowledge" // acknowledge gaps and foreign records
)

// AuditAccessedData is the payload of audit.accessed, which is recorded before an access to
// evidence.
type AuditAccessedData struct {
	Action AuditAction `json:"action"`
	By     string      `json:"by"` // name that the caller gives
	// User is the system user and the host, which the caller cannot choose.
	User      string          `json:"user,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Ticket    string          `json:"ticket,omitempty"`
	Selection *AuditSelection `json:"selection,omitempty"` // nil for everything of the tenant
	// As is the format of an export, or the subject of a replay.
	As string `json:"as,omitempty"`
	// Order is the text of the order, signed with the ledger's key. An event without a signed
	// order has no effect, because any client can publish such an event.
	Order string `json:"order,omitempty"`
	Common
}

// AuditSelection selects records. A record must match every field that is set.
type AuditSelection struct {
	Run   string     `json:"run,omitempty"`
	Event string     `json:"event,omitempty"`
	User  string     `json:"user,omitempty"`
	From  *time.Time `json:"from,omitempty"`
	To    *time.Time `json:"to,omitempty"`
	Kind  string     `json:"kind,omitempty"` // pattern of kinds
	Hold  string     `json:"hold,omitempty"` // id of the legal hold that is lifted
}
