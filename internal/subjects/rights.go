package subjects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Role is the role of a broker client. It determines the client's rights.
type Role string

// Roles of broker clients. The zero Role is Owner.
const (
	Owner         Role = ""          // all rights
	PublisherRole Role = "publisher" // writes events of all tenants, requests and makes decisions
	AuditorRole   Role = "auditor"   // reads all messages, and writes access records
	TrackerRole   Role = "tracker"   // reads all messages, and writes decisions about issues
	MetricsRole   Role = "metrics"
	ReaderRole    Role = "reader" // any other consumer
	DeciderRole   Role = "decide" // a user's decision service
)

// Roles returns all roles that have limited rights. Owner is not among them.
func Roles() []Role {
	return []Role{PublisherRole, AuditorRole, TrackerRole, MetricsRole, ReaderRole, DeciderRole}
}

// Consumes reports whether the role has a durable consumer.
func (r Role) Consumes() bool {
	return slices.Contains([]Role{AuditorRole, TrackerRole, MetricsRole, ReaderRole}, r)
}

// Rights lists the subjects that a client may use.
type Rights struct {
	Publish   []string
	Deny      []string // exceptions from Publish
	Subscribe []string
	Responses bool // may reply to requests
}

var trackerKinds = []events.Kind{events.IssueDecided, events.IssueEdited, events.ClockTicked, events.GapRecorded, events.BlobChunk}

var auditorKinds = []events.Kind{events.AuditAccessed, events.ProducerLost, events.GapRecorded, events.BlobChunk}

// RoleRights returns the minimum rights of a broker client with this role. durable is the name of
// the client's consumer. inbox is the subject prefix for replies to the client, and no other
// client may subscribe to it.
func RoleRights(s Space, role Role, durable, inbox string) Rights {
	r := Rights{Subscribe: []string{inbox + ".>"}}
	ev := s.EventStream()
	for _, stream := range []string{ev, s.DeadLetterStream(), s.AdvisoryStream(), s.CheckpointStream()} {
		r.Publish = append(r.Publish, "$JS.API.STREAM.INFO."+stream)
	}
	if role.Consumes() {
		r.Publish = append(r.Publish, "$JS.API.STREAM.MSG.GET."+ev)
		r.consume(s, durable)
	}
	// The auditor publishes no dead letters, because it stores messages that it cannot handle in
	// quarantine.
	if role.Consumes() && role != AuditorRole {
		r.Publish = append(r.Publish, s.prefix()+"dlq."+string(role))
	}
	switch role {
	case Owner:
		return Rights{Publish: []string{">"}, Subscribe: []string{">"}}
	case PublisherRole:
		r.Publish = append(r.Publish, publisherSubjects(s)...)
		r.Publish = append(r.Publish, "$JS.API.CONSUMER.INFO."+ev+".*")
		r.decide(s)
	case TrackerRole:
		r.produce(s, trackerKinds)
	case AuditorRole:
		r.produce(s, auditorKinds)
		r.storeCheckpoints(s, durable)
	case DeciderRole:
		r.Publish = nil
		r.decide(s)
	case MetricsRole, ReaderRole:
	}
	return r
}

func publisherSubjects(s Space) []string {
	return []string{
		s.AllEvents(), s.AllChains(), s.AllDecisions(),
		chainLookup(s, s.AllChains()),
	}
}

func (r *Rights) produce(s Space, kinds []events.Kind) {
	for _, kind := range kinds {
		r.Publish = append(r.Publish, s.prefix()+"ev.*.*.*."+escape(string(kind)))
	}
	r.Publish = append(r.Publish, s.AllChains(), chainLookup(s, s.AllChains()))
}

func (r *Rights) decide(s Space) {
	r.Subscribe = append(r.Subscribe, s.AllDecisions(), "$SRV.>")
	r.Responses = true
}

func chainLookup(s Space, subject string) string {
	return "$JS.API.DIRECT.GET." + s.EventStream() + "." + subject
}

// Route forwards messages that a restricted client sends to From to the subject To in the owner's
// account. A reply has only the rights of the restricted account.
type Route struct{ From, To string }

// TenantRoutes returns the routes of a tenant's account. Each route is for subjects with the
// tenant, or adds the tenant to a subject without it.
func TenantRoutes(s Space, tenant string) ([]Route, error) {
	token, err := Token(tenant)
	if err != nil {
		return nil, fmt.Errorf("tenant id: %w", err)
	}
	same := func(subject string) Route { return Route{From: subject, To: subject} }
	ev, chain, decide := s.prefix()+"ev.", s.prefix()+"chain.", s.prefix()+"decide"
	return []Route{
		same(ev + token + ".*.*.*"),
		{From: ev + "*.*.*", To: ev + token + ".*.*.*"},
		same(chain + token + ".*"),
		{From: chain + "*", To: chain + token + ".*"},
		same(chainLookup(s, chain+token+".*")),
		{From: chainLookup(s, chain+"*"), To: chainLookup(s, chain+token+".*")},
		same(decide + "." + token),
		{From: decide, To: decide + "." + token},
	}, nil
}

// LocalRoutes returns the routes of local clients without credentials.
func LocalRoutes(s Space) []Route {
	var routes []Route
	for _, subject := range publisherSubjects(s) {
		routes = append(routes, Route{From: subject, To: subject})
	}
	return routes
}

// IsServiceKind reports whether only Hooktrail's services may publish events of kind k. The kind
// is recognised by its prefix, so that kinds of later versions are included. Kinds such as
// run.sealed are not service kinds, because engines publish them too.
func IsServiceKind(k events.Kind) bool {
	prefix, _, dotted := strings.Cut(string(k), ".")
	return dotted && slices.Contains([]string{"audit", "clock", "issue", "producer"}, prefix)
}

// serviceKinds returns the known service kinds. A NATS right cannot exclude unknown ones, because
// it matches whole tokens and not prefixes.
func serviceKinds() []events.Kind {
	return slices.DeleteFunc(events.Kinds(), func(k events.Kind) bool { return !IsServiceKind(k) })
}

// RouteRights returns the rights of a client that may only use the given routes. The client cannot
// publish events of a kind for which [IsServiceKind] is true.
func RouteRights(s Space, routes []Route) Rights {
	r := Rights{Subscribe: []string{LoopbackInbox + ".>"}}
	for _, kind := range serviceKinds() {
		r.Deny = append(r.Deny, s.prefix()+"ev.*.*.*."+escape(string(kind)), s.prefix()+"ev.*.*."+escape(string(kind)))
	}
	for _, route := range routes {
		r.Publish = append(r.Publish, route.From)
	}
	return r
}
