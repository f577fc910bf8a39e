package rules

import "github.com/modelpatch/modelpatch/report"

const (
	failing = report.LevelError
	warning = report.LevelWarning
	noting  = report.LevelNote
)

// What mends a file that was written wrongly.
const (
	convertAgain = "Convert or export the model again with a current version of its converter."
	fetchAgain   = "Fetch the file again; if it stays so, convert or export the model again."
)

// List is every rule: first what check alone finds, then what inspect tells as well, by
// format.
var List = []Rule{
	// The file.
	{ID: ruleUnreadable, Level: failing, Title: "File cannot be read", look: broken(ruleUnreadable),
		Says: "The file is truncated, damaged, or of a format that is not read here.", Hurts: "No engine loads it, or each reads something else.", Mend: fetchAgain},
	{ID: rulePointer, Level: failing, Title: "Git LFS pointer in place of the model", look: broken(rulePointer),
		Says: "The checkout has the small text file that Git LFS keeps in the repository, not the model.", Hurts: "Nothing was checked.", Mend: "git lfs pull, before check. Where the gate need not see the models: --fail-on never, or the rule at a lower level in the policy."},
	{ID: ruleUnfinished, Level: failing, Title: "An edit was cut short", look: broken(ruleUnfinished),
		Says: "The journal of an edit in place lies beside the file: its bytes may be a mixture of old and new.", Hurts: "Engines may load it and compute nonsense.", Mend: "modelpatch recover FILE"},
	{ID: ruleShard, Level: failing, Title: "Shards are missing or disagree", look: broken(ruleShard),
		Says: "The model is split over several files, and one of them is missing, unreadable, or of another model.", Hurts: "llama.cpp does not load it.", Mend: "Put all shards of one conversion into one folder."},
	{ID: ruleExternal, Level: failing, Title: "External data is missing or short", look: broken(ruleExternal),
		Says: "A constant of the ONNX model lies in a data file that is missing, too short, or outside of the model's folder.", Hurts: "ONNX Runtime does not load the model.", Mend: "Put the data file of the same export beside the model."},
	{ID: "signature-stale", Level: warning, Title: "Signature or checksum is of another file", look: staleSignature,
		Says: "A signature or checksum file beside the model names another SHA-256 than the file has.", Hurts: "Whoever verifies it refuses the model; or the model was changed by somebody who could not sign it.", Mend: "Sign the changed model again, or take the change back: modelpatch undo FILE"},

	// How far it counts.
	{ID: "length-silently-wrong", Level: failing, Title: "Silently wrong beyond its length", look: silentlyWrong,
		Says:  "Beyond its capacity the model does not fail: the last row is used again, the index wraps, or the numbers are wrong.",
		Hurts: "Longer input gives bad output without a message, in every engine.", Mend: "modelpatch extend --len N FILE, or cut inputs at the capacity and waive the finding."},
	{ID: "capacity-below-stated", Level: failing, Title: "States more positions than it encodes", look: belowStated,
		Says: "The length that the file states is larger than what its tables encode.", Hurts: "Engines fail or read behind the table at the stated length.", Mend: "modelpatch extend --len N FILE"},
	{ID: "length-fixed-below-table", Level: noting, Title: "Fixed input shorter than the table", look: fixedBelowTable,
		Says: "A dimension of the graph's input is fixed at fewer positions than the table encodes.", Hurts: "The engine refuses input that the model could take.", Mend: "modelpatch extend --len N FILE, or export with a free sequence axis."},
	{ID: "length-unstated", Level: noting, Title: "No length stated", look: unstated,
		Says: "Neither the file nor a configuration beside it says how far the model was trained to count, and nothing in it ends.", Hurts: "Nobody notices input that is longer than the model was trained for.", Mend: "Put the model's config.json beside it."},
	{ID: "encoding-unknown", Level: warning, Title: "A position encoding that could not be recognised", look: unknownEncoding,
		Says: "Something in the model encodes positions, and it cannot be named or proved.", Hurts: "Its length cannot be checked, and it cannot be changed safely.", Mend: "modelpatch inspect --verbose FILE says what was seen."},

	// Scalings of RoPE.
	{ID: "yarn-length-differs", Level: warning, varies: "a note where YaRN reaches further than stated", Title: "YaRN's factor does not lead to the stated length", look: yarnLength,
		Says: "The stated length is more than YaRN's factor times the original length, or less than half of it.", Hurts: "Beyond factor × original the model is asked for positions that it was never stretched to; far below it, quality is given away.", Mend: "modelpatch rope --scaling yarn --factor S --len N FILE"},
	{ID: "scaling-custom", Level: warning, Title: "Frequencies that no formula gives", look: customScaling,
		Says: "The rotary frequencies follow no known scaling.", Hurts: "They may be meant, or damaged; nobody can tell from the file, and they cannot be rescaled.", Mend: "Compare with the original model's configuration."},
	{ID: "scaling-one-list", Level: warning, Title: "LongRoPE with one of its two lists", look: oneList,
		Says: "Only the short or only the long factors of LongRoPE are in the file: the export froze one side of the switch.", Hurts: "On the other side of the original length outputs are not those of the model.", Mend: "Export both sides, or state the length for which this one holds."},
	{ID: "amplitude-unusual", Level: noting, Title: "An unusual attention factor", look: unusualAmplitude,
		Says: "YaRN's attention factor is neither 1 nor 0.1·ln(factor) + 1 (arXiv 2309.00071, eq. 22).", Hurts: "Attention is sharper or flatter than the recipe says; some models mean it.", Mend: "Compare with the original model's configuration."},

	// Tables.
	{ID: "table-not-scanned", Level: noting, Title: "A large table at an address was not checked row by row", look: notScanned,
		Says: "The model was read by its address, and the rows of a large table were not fetched.", Hurts: "Damaged, repeated or empty rows would not be found.", Mend: "--scan fetches the table and checks it."},
	{ID: "cache-differs-from-formula", Level: failing, Title: "A cache with damaged rows", look: damagedCache,
		Says: "All rows of a cache of cosines and sines follow one formula but for a few.", Hurts: "Those positions are rotated wrongly: outputs are off there, without a message.", Mend: fetchAgain},
	{ID: "table-zero-rows", Level: warning, varies: "a note where all rows are zeros and positions are told in another way", Title: "Rows of zeros in a position table", look: zeroRows,
		Says: "Positions within the used range of a table have rows of zeros.", Hurts: "These positions are told by nothing; rows that were never trained look so.", Mend: "Fetch or export the model again; rows that extend made are made anew from the old model, with another --method."},
	{ID: "table-rows-repeated", Level: noting, Title: "Equal rows in a position table", look: repeatedRows,
		Says: "Two positions have the same row: the table was tiled or padded by repetition.", Hurts: "The model cannot tell these positions apart by their rows alone.", Mend: "Nothing, where it was meant (modelpatch extend --method tile)."},
	{ID: "table-norm-jump", Level: warning, Title: "A jump in the norms of a position table", look: normJump,
		Says: "A run of rows is twice as large as its neighbours, or larger.", Hurts: "Rows that were damaged, invented or never trained drown the tokens at these positions.", Mend: "modelpatch plot FILE shows the norms; rows that extend made are made anew from the old model, with another --method."},

	// Files beside the model.
	{ID: "sidecar-length-differs", Level: warning, varies: "an error where the model encodes fewer positions, a note where a tokenizer cuts earlier", Title: "A file beside the model states another length", look: sidecarLength,
		Says: "config.json, genai_config.json, sentence_bert_config.json, tokenizer.json or tokenizer_config.json, beside the model or above its folder onnx, states another length than the model has.", Hurts: "Servers and tokenizers take theirs: inputs are cut too early, or longer ones than the model encodes are let through.", Mend: "Change the number in the file; extend --sidecars changes only numbers that agreed with the model."},
	{ID: "sidecar-picture-differs", Level: warning, Title: "A file beside the model states another picture size", look: sidecarPicture,
		Says: "config.json or preprocessor_config.json states another size of the picture than the graph takes.", Hurts: "Pictures are resized to a size at which the engine fails.", Mend: "modelpatch extend --image SIZE --sidecars changes both; or change the number in the file."},
	{ID: "sidecar-unreadable", Level: warning, Title: "A file beside the model cannot be read", look: sidecarUnreadable,
		Says: "A configuration beside the model is no JSON, too large, or no regular file.", Hurts: "Whether it states the length and the RoPE of the model was not checked.", Mend: "Mend the file, or remove it."},
	{ID: "sidecar-rope-differs", Level: warning, Title: "config.json names another RoPE", look: sidecarRope,
		Says: "config.json beside the model names another base or scaling of RoPE than the file computes.", Hurts: "One of the two is not the model that was trained; exports freeze a scaling that depends on the length.", Mend: "Export again; or modelpatch rope with --base, --scaling and --factor as the configuration says."},

	// GGUF: the container.
	{ID: "gguf-alignment-small", Level: warning, Title: "Small alignment", Says: "Tensor data is aligned to fewer bytes than engines expect.", Hurts: "Engines that map the file into memory want 32 or more.", Mend: convertAgain},
	{ID: "gguf-big-endian", Level: failing, gate: true, Title: "Big-endian file", Says: "Numbers in the file have the other byte order.", Hurts: "llama.cpp on a little-endian machine refuses it.", Mend: "Convert the model for the machine that is to run it."},
	{ID: "gguf-data-gap", Level: failing, Title: "Gap between tensors", Says: "There are bytes between two tensors that belong to none.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-data-order", Level: failing, Title: "Tensors in another order", Says: "Tensor data lies in another order than the list of tensors.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-nested-array", Level: failing, Title: "Array of arrays", Says: "A key holds an array of arrays.", Hurts: "The format allows it, llama.cpp refuses it.", Mend: convertAgain},
	{ID: "gguf-tensor-name-empty", Level: warning, Title: "Tensor without a name", Says: "A tensor's name is empty.", Hurts: "No engine finds it.", Mend: convertAgain},
	{ID: "gguf-tensor-name-long", Level: failing, Title: "Long tensor name", Says: "A tensor's name is longer than 63 bytes.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-tensor-type-unknown", Level: warning, Title: "Unknown storage type", Says: "A tensor has a storage type that is not known here.", Hurts: "Older engines refuse it; its numbers were not checked.", Mend: "Use a current engine and a current modelpatch."},

	// GGUF: keys and tensors.
	{ID: "gguf-architecture-unknown", Level: failing, gate: true, Title: "Unknown architecture", Says: "llama.cpp has no such architecture, or knows it by name alone.", Hurts: "It refuses the file.", Mend: "Use an engine that knows it; check general.architecture for a typing error. modelpatch --assume LIKE reads and changes the file as one of a known architecture."},
	{ID: "gguf-base-default", Level: warning, Title: "RoPE base missing, and the default is not the model's", Says: "rope.freq_base is missing, and published models of the architecture, or of the family that the vocabulary tells, have another base than the 10000 that llama.cpp takes then.", Hurts: "Every position is rotated by other angles than the model was trained with: output degrades with the length.", Mend: "modelpatch rope --base B FILE, or modelpatch set rope.freq_base=B FILE"},
	{ID: "gguf-base-value", Level: failing, Title: "Impossible RoPE base", Says: "The base of RoPE is not a number above 1.", Hurts: "Outputs are NaN, or all pairs turn alike.", Mend: "modelpatch rope --base B FILE"},
	{ID: "gguf-block-count", Level: failing, Title: "Too many layers", Says: "block_count is more than engines take.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-context-missing", Level: failing, Title: "No context_length", Says: "The key context_length is missing.", Hurts: "llama.cpp refuses the file.", Mend: "modelpatch extend --len N --method none FILE states a length."},
	{ID: "gguf-context-value", Level: warning, Title: "Impossible context_length", Says: "context_length is 0, or no number of positions.", Hurts: "llama.cpp refuses the file or grants no context.", Mend: "modelpatch extend --len N --method none FILE states another."},
	{ID: "gguf-dimension-count", Level: failing, Title: "Impossible rotary dimension", Says: "rope.dimension_count is odd, 0, or larger than a head, or differs from the head where the architecture wants them equal.", Hurts: "llama.cpp refuses the file or rotates other elements than were trained.", Mend: convertAgain},
	{ID: "gguf-divisors-missing", Level: warning, Title: "Llama 3.1's scaling is missing", Says: "Vocabulary, base and context length are those of models with Llama 3 scaling, which llama.cpp has as the tensor rope_freqs.weight alone, and the file lacks that (converters wrote none until July 2024).", Hurts: "Slow pairs are not divided: output degrades beyond 8192 tokens.", Mend: "modelpatch rope --scaling llama3 --factor 8 --original-length 8192 FILE (32 for models that share the embeddings' matrix)"},
	{ID: "gguf-factor-missing", Level: warning, Title: "Scaling type without a factor", Says: "rope.scaling.type is linear or yarn, and there is no factor.", Hurts: "llama.cpp takes 1: nothing is scaled.", Mend: "modelpatch set rope.scaling.factor=S FILE"},
	{ID: "gguf-factor-pair", Level: warning, Title: "One of two factor tensors", Says: "One of rope_factors_long and rope_factors_short is there without the other.", Hurts: "One side of the original length is not scaled.", Mend: convertAgain},
	{ID: "gguf-factor-tensor", Level: failing, Title: "Factor tensor that the engine does not take", Says: "A tensor of frequency factors is not used by this architecture, has another type or shape, or holds impossible numbers.", Hurts: "llama.cpp refuses the file, ignores the tensor, or computes infinite angles.", Mend: convertAgain},
	{ID: "gguf-factor-value", Level: failing, Title: "Impossible scaling factor", Says: "The factor of the scaling is negative or not finite.", Hurts: "Outputs are NaN.", Mend: "modelpatch rope --scaling TYPE --factor S FILE"},
	{ID: "gguf-factor-with-none", Level: warning, Title: "Scaling factor without effect", Says: "rope.scaling.type is none and a factor is given all the same.", Hurts: "The factor is not used, or in some architectures only in sliding layers.", Mend: "modelpatch rope --scaling TYPE --factor S FILE, or --scaling none to take it out."},
	{ID: "gguf-factor-without-type", Level: noting, Title: "Scaling factor without a type", Says: "A factor is given without rope.scaling.type.", Hurts: "llama.cpp takes it as linear.", Mend: "modelpatch rope --scaling linear --factor S FILE writes down what is meant."},
	{ID: "gguf-head-count", Level: failing, Title: "Impossible number of heads", Says: "attention.head_count is missing, 0, too large, or does not divide the width.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-key-ignored", Level: warning, Title: "Key without effect", Says: "The architecture does not read a position key that the file has.", Hurts: "What it says does not happen in llama.cpp.", Mend: "Remove the key, or write the setting in a form that the architecture reads."},
	{ID: "gguf-key-missing", Level: failing, Title: "Key missing", Says: "The architecture demands a key that the file lacks.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-key-type", Level: failing, Title: "Key of the wrong type", Says: "A key has another value type than engines read.", Hurts: "llama.cpp refuses the file.", Mend: "Any change by modelpatch stores a number in the right type."},
	{ID: "gguf-log-multiplier-missing", Level: warning, Title: "YaRN without DeepSeek's multiplier", Says: "rope.scaling.yarn_log_multiplier is missing in an architecture whose attention scale holds YaRN's amplitude (llama.cpp's build_deepseek2).", Hurts: "The amplitude is applied to cos and sin as well, unlike in models with mscale = mscale_all_dim.", Mend: "modelpatch set rope.scaling.yarn_log_multiplier=0.1 FILE: 0.1 times mscale_all_dim of config.json"},
	{ID: "gguf-original-length-missing", Level: warning, Title: "YaRN without its original length", Says: "rope.scaling.original_context_length is missing, so context_length is taken for it.", Hurts: "Raising context_length changes YaRN's frequencies.", Mend: "modelpatch extend --len N FILE writes it down."},
	{ID: "gguf-original-length-value", Level: warning, Title: "Original length above the stated one", Says: "original_context_length is more than context_length.", Hurts: "The scaling stretches to less than the model had.", Mend: "modelpatch rope --original-length N FILE"},
	{ID: "gguf-rows-differ-from-length", Level: failing, Title: "Rows and context_length differ", Says: "The position table has another number of rows than context_length says.", Hurts: "llama.cpp refuses the file.", Mend: "modelpatch extend --len N FILE changes both."},
	{ID: "gguf-scaling-twice", Level: warning, Title: "Scaled twice", Says: "rope_freqs.weight and the scaling keys both divide the frequencies.", Hurts: "llama.cpp multiplies them.", Mend: "modelpatch rope --scaling TYPE --factor S FILE replaces both."},
	{ID: "gguf-scaling-type-unknown", Level: failing, Title: "Unknown scaling type", Says: "rope.scaling.type is a word that llama.cpp does not know.", Hurts: "It aborts.", Mend: "modelpatch rope --scaling none|linear|yarn FILE"},
	{ID: "gguf-sections", Level: failing, Title: "M-RoPE sections", Says: "rope.dimension_sections has not four numbers, or they are all 0.", Hurts: "llama.cpp refuses the file or aborts at the first token.", Mend: "modelpatch set --pad-sections FILE where fewer than four are there; else convert the model again."},
	{ID: "gguf-table-missing", Level: failing, Title: "Table missing", Says: "The architecture needs a position table that the file lacks.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},
	{ID: "gguf-table-not-finite", Level: failing, Title: "NaN in a position table", look: notFinite("gguf"), Says: "A row of the position table holds NaN or infinity.", Hurts: "Outputs are NaN from that position on.", Mend: fetchAgain},
	{ID: "gguf-table-width", Level: failing, Title: "Rows of another width", Says: "Rows of the position table have another width than the embeddings.", Hurts: "llama.cpp refuses the file.", Mend: convertAgain},

	// ONNX: the container.
	{ID: "onnx-duplicate-attribute", Level: failing, Title: "Attribute twice", Says: "A node has an attribute twice.", Hurts: "Readers disagree about which one counts.", Mend: "Export the model again."},
	{ID: "onnx-duplicate-function", Level: failing, Title: "Function twice", Says: "A local function is defined twice.", Hurts: "Readers disagree about which one counts.", Mend: "Export the model again."},
	{ID: "onnx-duplicate-initializer", Level: failing, Title: "Constant twice", Says: "A constant has two values.", Hurts: "Readers disagree about which one counts.", Mend: "Export the model again."},
	{ID: "onnx-duplicate-value", Level: failing, Title: "Value made twice", Says: "Two nodes make one value.", Hurts: "ONNX Runtime refuses the model.", Mend: "Export the model again."},
	{ID: "onnx-fails", Level: warning, Title: "The graph fails where it was tried", Says: "A node fails with the numbers of positions at which the graph was computed here.", Hurts: "Where the exporter wrote a graph that no engine runs, nothing told of lengths counts.", Mend: "Run the model; if it fails, export it again with another exporter or release."},
	{ID: "onnx-file-size", Level: warning, Title: "More than protobuf takes", Says: "The file is larger than 2 GiB.", Hurts: "ONNX Runtime and the onnx package cannot read it.", Mend: "Export with external data."},
	{ID: "onnx-ir-version", Level: noting, Title: "New IR version", Says: "The file's IR version is newer than those that were tried.", Hurts: "Older engines refuse it.", Mend: "Use a current engine and a current modelpatch."},
	{ID: "onnx-node-cycle", Level: failing, Title: "Nodes in a circle", Says: "Nodes need their own output.", Hurts: "ONNX Runtime refuses the model.", Mend: "Export the model again."},
	{ID: "onnx-raw-and-typed-data", Level: failing, Title: "Data twice", Says: "A constant has its data twice, raw and typed.", Hurts: "Readers disagree about which one counts.", Mend: "Export the model again."},
	{ID: "onnx-shared-data", Level: noting, Title: "Constants that share bytes", Says: "Two constants lie on the same bytes of a data file.", Hurts: "A change of one changes the other.", Mend: "Nothing, where it was meant."},
	{ID: "onnx-sparse-index", Level: failing, Title: "Sparse index outside of its tensor", Says: "A sparse constant puts a value outside of its dimensions.", Hurts: "An engine that trusts the index writes behind the tensor.", Mend: "Do not load the file; export the model again."},
	{ID: "onnx-too-large", Level: failing, Title: "Graph too large to be looked at", Says: "The graph has more nodes than could be looked at.", Hurts: "Its positions were not checked.", Mend: "Check a smaller export."},
	{ID: "onnx-unknown-element-type", Level: noting, Title: "Unknown element type", Says: "A constant is of an element type that is not known here.", Hurts: "Its numbers were not checked.", Mend: "Use a current modelpatch."},

	// ONNX: positions.
	{ID: "onnx-cache-rows-differ", Level: failing, Title: "Cosines and sines of unequal rows", Says: "A rotary cache has other numbers of rows for cosines and sines.", Hurts: "The engine fails beyond the shorter one.", Mend: "Export the model again."},
	{ID: "onnx-cache-unexplained", Level: warning, Title: "A cache that no formula gives", Says: "A cache of cosines and sines follows no formula.", Hurts: "It may be damaged; it cannot be made longer.", Mend: "Compare with a fresh export."},
	{ID: "onnx-length-bound", Level: warning, Title: "Traced for one length", Says: "The sequence axis, or the sides of pictures, are declared free, and the graph ends at one size all the same.", Hurts: "ONNX Runtime fails on other sizes than the exporter traced.", Mend: "Export with dynamic axes."},
	{ID: "onnx-length-step", Level: noting, Title: "Runs at multiples of a length", Says: "The sequence axis is declared free, and the graph runs at multiples of a length alone.", Hurts: "An engine fails at lengths between.", Mend: "Pad inputs to a multiple of that length."},
	{ID: "onnx-quantisers-assumed", Level: noting, Title: "Operators are taken for quantisers", Says: "Operators of a domain that is not known have names that say they quantise: they are followed as if they did not round.", Hurts: "What they round and cut off is not looked at: positions beyond what they hold may be told as one.", Mend: "Use the QuantizeLinear of ONNX or ONNX Runtime, whose numbers are followed; or run the model at the lengths that it is for."},
	{ID: "onnx-positions-assumed", Level: noting, Title: "An input is taken for positions", Says: "The name of an input says nothing, and rows that it picks are added to those of tokens, as positions are.", Hurts: "Were it something else (kinds of tokens, say), what is told of positions would be wrong.", Mend: "See what the input is given; a name such as position_ids says it."},
	{ID: "onnx-quantisation-scale", Level: failing, Title: "Impossible quantisation scale", Says: "A quantised constant has a scale that is not a positive number.", Hurts: "Outputs are NaN or zero.", Mend: fetchAgain},
	{ID: "onnx-table-not-finite", Level: failing, Title: "NaN in a position table", look: notFinite("onnx"), Says: "A row of a table of an encoding holds NaN or infinity.", Hurts: "Outputs are NaN from that position on.", Mend: fetchAgain},
	{ID: "onnx-table-not-scanned", Level: noting, Title: "A large table at an address was not looked through", Says: "The model was read by its address, and a large table was not fetched only to look for NaN and infinity.", Hurts: "A damaged row would not be found.", Mend: "--scan fetches the table and looks it through."},
	{ID: "onnx-unread-encoding", Level: warning, Title: "An encoding that is not read", Says: "Numbers that vary along positions meet the data in a form that is not understood.", Hurts: "Its length cannot be checked, and it cannot be changed safely.", Mend: "modelpatch inspect --verbose FILE says where."},
	{ID: "onnx-unread-table", Level: noting, Title: "A second table that nothing reads", Says: "A constant has the shape of the table in use, and nothing reads it.", Hurts: "A change of the wrong one would do nothing.", Mend: "Nothing, or export the model again without it."},

	// The policy.
	{ID: PolicyExpectation, Level: failing, Title: "The model is not as the policy expects", Says: "A fact that the policy file demands does not hold.", Hurts: "What relies on the policy breaks.", Mend: "Change the model or the policy; the finding says which entry."},
	{ID: PatternUnmatched, Level: failing, Title: "A pattern of the policy matches no file", Says: "A pattern of paths in the policy file matches no file of this run, and none below the policy's folder.", Hurts: "What the policy expects of those files is held against nothing, and the check passes.", Mend: "Correct the pattern, or remove it; a pattern without a slash is held against names."},
	{ID: WaiverExpired, Level: failing, Title: "A waiver has ended", Says: "The last day of a waiver in the policy file is over.", Hurts: "The findings that it covered count again.", Mend: "Mend the model, or give the waiver a new date and a reason."},
	{ID: WaiverUnused, Level: noting, Title: "A waiver without a finding", Says: "A waiver in the policy file covers no finding of this run.", Hurts: "It would hide the next one.", Mend: "Remove it."},
}

// The rules that a policy finds.
const (
	PolicyExpectation = "policy-expectation"
	PatternUnmatched  = "pattern-unmatched"
	WaiverExpired     = "waiver-expired"
	WaiverUnused      = "waiver-unused"
)
