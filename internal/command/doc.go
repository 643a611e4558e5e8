// Package command contains the cobra commands, one package for each, with flags, help texts and
// output. A command checks its flags and calls a service. The services are in the folders capture,
// evidence and tracking, and in metrics and app. No service imports a command. The programs in cmd
// pass a command to cli.Main, which prints errors and sets the exit status.
package command
