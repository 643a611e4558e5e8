package events

import "time"

// AuditAction is the kind of access to evidence.
type AuditAction string

// The actions. The first group reads evidence. The second group changes something and
// has no effect without an order signed with the ledger's key.
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
	AuditRevoke AuditAction = "revoke" // trust no later grant of an issuer

	AuditFloor       AuditAction = "floor"       // prune no younger records
	AuditApprovers   AuditAction = "approvers"   // need a second person
	AuditAcknowledge AuditAction = "acknowledge" // known gaps and foreign records
)

// AuditAccessedData is the payload of audit.accessed: an access to evidence, or an
// order about it, recorded before it happens.
type AuditAccessedData struct {
	Action AuditAction `json:"action"`
	By     string      `json:"by"` // as the caller says
	// User is the user of the operating system and the host, which the caller
	// cannot choose.
	User      string          `json:"user,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Ticket    string          `json:"ticket,omitempty"`
	Selection *AuditSelection `json:"selection,omitempty"` // absent: everything of the tenant
	// As is the form in which evidence was handed out: a format of export, or
	// the subject of a replay.
	As string `json:"as,omitempty"`
	// Order is a note signed with the ledger's key. Without it, the action changes
	// nothing, because anybody can publish this event.
	Order string `json:"order,omitempty"`
	Common
}

// AuditSelection says which evidence an action was about. A record is meant if it
// matches every field that is set.
type AuditSelection struct {
	Run   string     `json:"run,omitempty"`
	Event string     `json:"event,omitempty"`
	User  string     `json:"user,omitempty"`
	From  *time.Time `json:"from,omitempty"`
	To    *time.Time `json:"to,omitempty"`
	Kind  string     `json:"kind,omitempty"` // pattern of kinds
	Hold  string     `json:"hold,omitempty"` // id of the hold that is lifted
}
