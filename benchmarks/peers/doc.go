// Package peers is a module of its own for what the benchmarks run beside
// modelpatch: bare walks that do the least any reader must, and readers of
// other projects, whose dependencies do not belong in modelpatch's go.mod.
package peers
