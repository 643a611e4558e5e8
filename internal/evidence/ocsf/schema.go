package ocsf

// Version is the version of the schema, from commit 3dcb905d of ocsf/ocsf-schema.
const Version = "1.8.0"

type class struct{ category, uid int }

var (
	baseEvent            = class{0, 0}
	detectionFinding     = class{2, 2004}
	applicationLifecycle = class{6, 6002}
	apiActivity          = class{6, 6003}
	datastoreActivity    = class{6, 6005}
	applicationError     = class{6, 6008}
)

const (
	activityOther = 99

	findingCreate   = 1
	lifecycleStart  = 3
	lifecycleStop   = 4
	lifecycleUpdate = 8
	storeRead       = 1
	storeUpdate     = 2
	storeDelete     = 7
	errorGeneral    = 1
)

const (
	severityInformational = 1
	severityLow           = 2
	severityMedium        = 3
	severityHigh          = 4

	statusSuccess = 1
	statusFailure = 2
	findingNew    = 1

	actionAllowed      = 1
	actionDenied       = 2
	dispositionAllowed = 1
	dispositionBlocked = 2

	storeDatabase = 1
	databaseOther = 99
	sha256        = 3
)

const securityControl = "security_control" // a profile

type row struct {
	ActivityID   int    `json:"activity_id"`
	ActivityName string `json:"activity_name,omitempty"`
	CategoryUID  int    `json:"category_uid"`
	ClassUID     int    `json:"class_uid"`
	TypeUID      int    `json:"type_uid"`
	SeverityID   int    `json:"severity_id"`
	Time         int64  `json:"time"` // milliseconds since 1970
	StatusID     int    `json:"status_id,omitempty"`
	StatusCode   string `json:"status_code,omitempty"`
	StatusDetail string `json:"status_detail,omitempty"`
	Message      string `json:"message,omitempty"`

	Metadata metadata `json:"metadata"`

	ActionID      int          `json:"action_id,omitempty"`
	DispositionID int          `json:"disposition_id,omitempty"`
	Actor         *actor       `json:"actor,omitempty"`
	API           *api         `json:"api,omitempty"`
	App           *product     `json:"app,omitempty"`
	Database      *database    `json:"database,omitempty"`
	FindingInfo   *findingInfo `json:"finding_info,omitempty"`
	IsAlert       bool         `json:"is_alert,omitempty"`
	SrcEndpoint   *entity      `json:"src_endpoint,omitempty"`
	TypeID        int          `json:"type_id,omitempty"`

	RawDataHash *fingerprint `json:"raw_data_hash,omitempty"`
	Unmapped    unmapped     `json:"unmapped"`
}

type metadata struct {
	Version        string   `json:"version"`
	Product        product  `json:"product"`
	Profiles       []string `json:"profiles,omitempty"`
	UID            string   `json:"uid"`      // event id, or ledger and leaf
	Sequence       int64    `json:"sequence"` // leaf
	EventCode      string   `json:"event_code,omitempty"`
	CorrelationUID string   `json:"correlation_uid,omitempty"` // run
	LogName        string   `json:"log_name"`                  // ledger
	LoggedTime     int64    `json:"logged_time,omitempty"`
	TenantUID      string   `json:"tenant_uid,omitempty"`
	IsTruncated    bool     `json:"is_truncated,omitempty"`
}

type product struct {
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
	VendorName string `json:"vendor_name,omitempty"`
	Version    string `json:"version,omitempty"`
}

type entity struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

type actor struct {
	AppName string  `json:"app_name,omitempty"`
	User    *entity `json:"user,omitempty"`
	Session *entity `json:"session,omitempty"`
}

type api struct {
	Operation string    `json:"operation"`
	Service   *entity   `json:"service,omitempty"`
	Request   *request  `json:"request,omitempty"`
	Response  *response `json:"response,omitempty"`
}

type request struct {
	UID  string `json:"uid"`
	Data any    `json:"data,omitempty"`
}

type response struct {
	Code         *int   `json:"code,omitempty"`
	ErrorMessage string `json:"error_message,omitempty"`
}

type database struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	TypeID int    `json:"type_id"`
}

type findingInfo struct {
	UID   string   `json:"uid"`
	Title string   `json:"title"`
	Types []string `json:"types,omitempty"`
}

type fingerprint struct {
	AlgorithmID int    `json:"algorithm_id"`
	Value       string `json:"value"`
}

type unmapped struct {
	Hooktrail details `json:"hooktrail"`
}

type details struct {
	Ledger   string `json:"ledger"`
	Leaf     int64  `json:"leaf"`
	Class    string `json:"class"`
	Finding  string `json:"finding,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Event    string `json:"event,omitempty"`
	Producer string `json:"producer,omitempty"`
	Sequence uint64 `json:"sequence,omitempty"`
	Run      string `json:"run,omitempty"`
	Step     string `json:"step,omitempty"`
	ToolCall string `json:"tool_call,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Role     string `json:"role,omitempty"`
	Removed  string `json:"removed,omitempty"`
	Order    int64  `json:"order,omitempty"`

	Model  string `json:"model,omitempty"`
	Action string `json:"action,omitempty"`
	Reason string `json:"reason,omitempty"`
	Ticket string `json:"ticket,omitempty"`
	By     string `json:"by,omitempty"`
}
