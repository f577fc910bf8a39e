// Package verify re-runs attention from the numbers in model files to show
// what a change left equal, and compares files part by part.
//
// Start with Compare (two models) and Inspect (one). All arithmetic is float64;
// tolerances have names and stand in tolerance.go. A check that cannot be made
// says "skipped" and why; it never counts as passed.
package verify
