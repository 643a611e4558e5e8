package hooks

import "github.com/hooktrail/hooktrail/pkg/events"

type notificationRules[E any] struct {
	setExecutions func(*E, []Execution)
	ending        func(E) ending // nil if the event does not distinguish success from failure
}

var (
	runStartedRules = notificationRules[events.RunStartedData]{
		setExecutions: func(e *events.RunStartedData, x []Execution) { e.Executions = x },
	}
	stepFinishedRules = notificationRules[events.StepFinishedData]{
		setExecutions: func(e *events.StepFinishedData, x []Execution) { e.Executions = x },
		ending: func(e events.StepFinishedData) ending {
			return endingOf(e.StepStatus == events.StepCompleted, e.StepStatus == events.StepFailed)
		},
	}
	runFinishedRules = notificationRules[events.RunFinishedData]{
		setExecutions: func(e *events.RunFinishedData, x []Execution) { e.Executions = x },
		ending:        func(e events.RunFinishedData) ending { return endingOf(e.Success, !e.Success) },
	}
	sessionEndedRules = notificationRules[events.SessionEndedData]{
		setExecutions: func(e *events.SessionEndedData, x []Execution) { e.Executions = x },
	}
	subagentStoppedRules = notificationRules[events.SubagentStoppedData]{
		setExecutions: func(e *events.SubagentStoppedData, x []Execution) { e.Executions = x },
		ending: func(e events.SubagentStoppedData) ending {
			succeeded := e.Status == "success" || e.Status == "completed"
			return endingOf(succeeded, !succeeded && e.Status != "")
		},
	}
	messageRules = notificationRules[events.MessageData]{
		setExecutions: func(e *events.MessageData, x []Execution) { e.Executions = x },
	}
	responseCompletedRules = notificationRules[events.ResponseCompletedData]{
		setExecutions: func(e *events.ResponseCompletedData, x []Execution) { e.Executions = x },
	}
	checkpointCreatedRules = notificationRules[events.CheckpointCreatedData]{
		setExecutions: func(e *events.CheckpointCreatedData, x []Execution) { e.Executions = x },
	}
	modelSwitchedRules = notificationRules[events.ModelSwitchedData]{
		setExecutions: func(e *events.ModelSwitchedData, x []Execution) { e.Executions = x },
	}
	memoryUpdatedRules = notificationRules[events.MemoryUpdatedData]{
		setExecutions: func(e *events.MemoryUpdatedData, x []Execution) { e.Executions = x },
	}
)

func endingOf(succeeded, failed bool) ending {
	switch {
	case succeeded:
		return success
	case failed:
		return failure
	}
	return unknown
}
