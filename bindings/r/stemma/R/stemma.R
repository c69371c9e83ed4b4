# stemma.R - ask a record where files came from, by the command stemma.
#
# Answers are those of the commands' --json, as data frames; the manual pages of the commands name the fields. The environment
# variable STEMMA_COMMAND names the command, if it is not found as 'stemma'. `record` is a record's folder (default: STEMMA_HOME,
# as everywhere).

# The lines that `stemma words...` prints. Status 1 means that nothing was found: an error of class stemma_not_recorded; each other
# failure is one of class stemma_error. `also` are further statuses that are an answer.
stemma_ask <- function(words, record = NULL, also = integer()) {
  command <- Sys.getenv("STEMMA_COMMAND", "stemma")
  if (!is.null(record)) words <- c("--store", path.expand(record), words)
  said <- tempfile("stemma")
  on.exit(unlink(said))
  lines <- suppressWarnings(tryCatch(system2(command, shQuote(words), stdout = TRUE, stderr = said),
                                     error = function(e) structure(character(), status = 127L)))
  status <- attr(lines, "status")
  if (is.null(status) || (status %in% also && length(lines))) return(as.character(lines))
  why <- paste(readLines(said, warn = FALSE), collapse = "\n")
  if (!nzchar(why)) why <- paste0("'", command, "' ended with status ", status)
  kind <- if (status == 1) "stemma_not_recorded"
  stop(structure(class = c(kind, "stemma_error", "error", "condition"), list(message = why, call = NULL)))
}

# The same, read as JSON: nested lists.
stemma_json <- function(words, record = NULL, also = integer())
  jsonlite::fromJSON(paste(stemma_ask(words, record, also), collapse = "\n"), simplifyVector = FALSE)

# A data frame: a row for each of `rows`, a column for each name of `fields`, whose value is a function of a row.
stemma_frame <- function(rows, fields) {
  columns <- lapply(fields, function(value) {
    found <- lapply(rows, function(row) {
      one <- value(row)
      if (length(one) == 1) one else NA
    })
    if (length(found)) unlist(found) else logical()
  })
  as.data.frame(columns, stringsAsFactors = FALSE, optional = TRUE)
}

stemma_command <- function(words) paste(unlist(words), collapse = " ")
stemma_time <- function(frame, names) {
  for (name in names) frame[[name]] <- as.POSIXct(as.character(frame[[name]]), format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")
  frame
}

stemma_run_fields <- list(
  id = function(r) r$id, command = function(r) stemma_command(r$command), cwd = function(r) r$cwd, user = function(r) r$user,
  host = function(r) r$host, start = function(r) r$start, end = function(r) r$end, status = function(r) r$exit$status,
  signal = function(r) r$exit$signal, inputs = function(r) r$inputs, outputs = function(r) r$outputs,
  recording = function(r) r$recording)
stemma_file_fields <- list(
  path = function(e) e$path, version = function(e) e$version, kind = function(e) e$kind, size = function(e) e$size,
  time = function(e) e$time, current = function(e) e$current, id = function(e) e$id)

stemma_why <- function(file, all = FALSE, record = NULL) {
  answer <- stemma_json(c("why", "--json", if (all) "--all", "--", file), record)$answers[[1]]
  inputs <- stemma_frame(answer$inputs, c(stemma_file_fields, list(certainty = function(e) e$certainty)))
  makers <- stemma_frame(answer$makers, list(
    command = function(m) stemma_command(m$argv), exe = function(m) m$exe, certainty = function(m) m$certainty,
    run = function(m) m$run, status = function(m) m$exit$status, id = function(m) m$id))
  structure(list(file = stemma_frame(list(answer$entity), stemma_file_fields), makers = makers, inputs = inputs),
            class = "stemma_why")
}

print.stemma_why <- function(x, ...) {
  sure <- function(what, certainty) paste0(encodeString(what), ifelse(certainty %in% "must", "", " ?"))
  cat(encodeString(x$file$path), ": ", sep = "")
  if (nrow(x$makers)) cat("made by", paste(sure(rev(x$makers$command), rev(x$makers$certainty)), collapse = " | "))
  else cat("external")
  if (nrow(x$inputs)) cat(" from", paste(sure(x$inputs$path, x$inputs$certainty), collapse = ", "))
  cat("\n")
  invisible(x)
}

stemma_lineage <- function(file, down = FALSE, certain = FALSE, stages = FALSE, record = NULL) {
  answer <- stemma_json(c("lineage", "--json", if (down) "--down", if (certain) "--certain", if (stages) "--stages", "--", file),
                        record)
  names <- new.env(parent = emptyenv())
  for (e in answer$entities) names[[e$id]] <- sprintf("%s@{%s}", if (is.null(e$path)) e$kind else e$path, format(e$version))
  for (x in answer$executions)
    names[[x$id]] <- if (length(x$argv)) stemma_command(x$argv) else if (isTRUE(nzchar(x$exe))) x$exe else paste("process", x$pid)
  for (s in c(answer$stages, answer$workflows, answer$activities))
    if (is.null(names[[s$id]])) names[[s$id]] <- trimws(paste(s$kind, if (is.null(s$name)) stemma_command(s$argv) else s$name))
  flows <- c("used", "wasGeneratedBy", "wasDerivedFrom", "wasInformedBy")
  edges <- Filter(function(e) e$type %in% flows, answer$edges)
  named <- function(id) if (is.null(names[[id]])) id else names[[id]]
  stemma_frame(edges, list(
    source = function(e) named(e$to), product = function(e) named(e$from), relation = function(e) e$type,
    certainty = function(e) e$certainty, source_id = function(e) e$to, product_id = function(e) e$from))
}

stemma_runs <- function(count = NULL, record = NULL) {
  answer <- stemma_json(c("log", "--json", if (is.null(count)) "--all" else c("-n", format(count, scientific = FALSE))), record)
  stemma_time(stemma_frame(answer$runs, stemma_run_fields), c("start", "end"))
}

stemma_find <- function(expression, record = NULL) {
  answer <- stemma_json(c("find", "--json", "--", expression), record, also = 1L)
  stemma_time(stemma_frame(answer$entities, stemma_file_fields), "time")
}

# For `stemma diff` a -- stands between two lists, so it cannot keep a name from being an option.
stemma_diff <- function(a = "@~1", b = "@", record = NULL) {
  if (any(startsWith(as.character(c(a, b)), "-")))
    stop(structure(class = c("stemma_error", "error", "condition"),
                   list(message = "a name that begins with '-' would be an option: write './' before it", call = NULL)))
  stemma_json(c("diff", "--json", a, b), record, also = 1L)
}

stemma_sparql <- function(query, record = NULL) {
  answer <- stemma_json(c("sparql", "--format", "json", "--", query), record)
  if (!is.null(answer$boolean)) return(answer$boolean)
  columns <- unlist(answer$head$vars)
  as.data.frame(stats::setNames(lapply(columns, function(name) vapply(answer$results$bindings, function(row)
    if (is.null(row[[name]])) NA_character_ else row[[name]]$value, character(1))), columns), stringsAsFactors = FALSE,
    optional = TRUE)
}

stemma_run <- function(command, options = character()) {
  status <- system2(Sys.getenv("STEMMA_COMMAND", "stemma"), shQuote(c("run", options, "--", command)))
  invisible(status)
}
