package subjects

import (
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Role is what a client of the broker is there for. It decides what it may do.
type Role string

// The roles. The zero Role is that of the owner.
const (
	Owner         Role = ""          // everything: makes the streams
	PublisherRole Role = "publisher" // writes everybody's events, answers and asks for decisions
	AuditorRole   Role = "auditor"   // reads, and writes what was done with evidence
	TrackerRole   Role = "tracker"   // reads, and writes what it decides
	MetricsRole   Role = "metrics"
	ReaderRole    Role = "reader" // any other consumer
	DeciderRole   Role = "decide" // a decision service of one's own
)

// Roles are all but that of the owner.
func Roles() []Role {
	return []Role{PublisherRole, AuditorRole, TrackerRole, MetricsRole, ReaderRole, DeciderRole}
}

// Consumes reports whether the role has a durable consumer.
func (r Role) Consumes() bool {
	return slices.Contains([]Role{AuditorRole, TrackerRole, MetricsRole, ReaderRole}, r)
}

// Rights are the subjects that a client may publish and subscribe to, and no
// others.
type Rights struct {
	Publish   []string
	Subscribe []string
	Responses bool // it may answer the requests that it gets
}

// trackerKinds are what the tracker's outbox publishes: its own, and the
// outbox's.
var trackerKinds = []events.Kind{events.IssueDecided, events.IssueEdited, events.ClockTicked, events.GapRecorded, events.BlobChunk}

// auditorKinds are what the auditor's outbox publishes: what was done with
// evidence, and the outbox's own.
var auditorKinds = []events.Kind{events.AuditAccessed, events.GapRecorded, events.BlobChunk}

// RoleRights returns the minimum rights of a role. A consumer may use one durable,
// named by [Space.Durable]. inbox is the inbox prefix of the client, and no other
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
	if role.Consumes() && role != AuditorRole { // which sets aside, and buries nothing
		r.Publish = append(r.Publish, s.prefix()+"dlq."+string(role))
	}
	switch role {
	case Owner:
		return Rights{Publish: []string{">"}, Subscribe: []string{">"}}
	case PublisherRole:
		r.Publish = append(r.Publish, publisherSubjects(s)...)
		r.decide(s)
	case TrackerRole:
		r.produce(s, trackerKinds)
	case AuditorRole:
		r.produce(s, auditorKinds)
		r.keepCheckpoints(s, durable)
	case DeciderRole:
		r.Publish = nil
		r.decide(s)
	case MetricsRole, ReaderRole:
	}
	return r
}

// publisherSubjects returns the subjects that a publisher needs to write events,
// look up its chain and request decisions.
func publisherSubjects(s Space) []string {
	return []string{
		s.AllEvents(), s.AllChains(), s.AllDecisions(),
		chainLookup(s, s.AllChains()),
	}
}

// produce adds what a service needs whose outbox has events of these kinds.
func (r *Rights) produce(s Space, kinds []events.Kind) {
	for _, kind := range kinds {
		r.Publish = append(r.Publish, s.prefix()+"ev.*.*.*."+escape(string(kind)))
	}
	r.Publish = append(r.Publish, s.AllChains(), chainLookup(s, s.AllChains()))
}

// decide adds what a decision service needs: requests, and those by which NATS's
// own tools find services.
func (r *Rights) decide(s Space) {
	r.Subscribe = append(r.Subscribe, s.AllDecisions(), "$SRV.>")
	r.Responses = true
}

// chainLookup returns the API subject that gets the last message on subject.
func chainLookup(s Space, subject string) string {
	return "$JS.API.DIRECT.GET." + s.EventStream() + "." + subject
}

// Route is a way out of an account of guests: what is published to From there is
// published to To in the account that owns the streams, with the same tokens in
// the places of the wildcards. Answers come back the same way, whatever subject
// they were asked for on: a guest has nothing written there with other rights
// than its own.
type Route struct{ From, To string }

// Routes are all the ways out of a tenant's account: its events and manifests,
// the last manifest of a chain of its own, and requests for decisions about it.
// Each is there twice, with the tenant's token, as [Space.Event] and the like
// make the subject, and without it: the route adds the token.
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

// LocalRoutes are the ways out of the account of local clients without
// credentials: what a publisher may ask for, of any tenant.
func LocalRoutes(s Space) []Route {
	var routes []Route
	for _, subject := range publisherSubjects(s) {
		routes = append(routes, Route{From: subject, To: subject})
	}
	return routes
}

// GuestRights are the rights of a client in an account with these ways out.
func RouteRights(routes []Route) Rights {
	r := Rights{Subscribe: []string{LoopbackInbox + ".>"}}
	for _, route := range routes {
		r.Publish = append(r.Publish, route.From)
	}
	return r
}
