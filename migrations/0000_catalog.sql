CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text,
	`hash` text NOT NULL,
	`start` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`last_used_at` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_tenant` ON `api_keys` (`tenant_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `audit_events` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`target` text NOT NULL,
	`request_id` text NOT NULL,
	`occurred_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_events_occurred_at` ON `audit_events` (`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `audit_events_tenant` ON `audit_events` (`tenant_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE TABLE `compaction_jobs` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`session_id` text NOT NULL,
	`state` text NOT NULL,
	`seq` integer NOT NULL,
	`job` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `compaction_jobs_tenant` ON `compaction_jobs` (`tenant_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `compaction_jobs_state` ON `compaction_jobs` (`state`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `idempotency` (
	`owner` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`resource_seed` text NOT NULL,
	`locked_until` integer NOT NULL,
	`status` integer,
	`body` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`owner`, `key`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `idempotency_created_at` ON `idempotency` (`created_at`);--> statement-breakpoint
CREATE TABLE `prices` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`class` text NOT NULL,
	`tier_min` integer NOT NULL,
	`femto_usd_per_token` integer NOT NULL,
	`effective_from` integer NOT NULL,
	`recorded_at` integer NOT NULL,
	`source` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `prices_moment` ON `prices` (`provider`,`model`,`tenant_id`,`class`,`tier_min`,`effective_from`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`external_id` text,
	`name` text,
	`user_id` text,
	`model` text,
	`source` text,
	`status` text NOT NULL,
	`parent_session_id` text,
	`metadata` text NOT NULL,
	`tags` text NOT NULL,
	`settings` text NOT NULL,
	`end_reason` text,
	`leaf_id` text,
	`message_count` integer NOT NULL,
	`token_estimate` integer NOT NULL,
	`compaction_state` text NOT NULL,
	`open_job_id` text,
	`usage_events` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`list_nano` integer NOT NULL,
	`billed_nano` integer NOT NULL,
	`unpriced_events` integer NOT NULL,
	`revision` integer NOT NULL,
	`seq` integer NOT NULL,
	`swept_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_external_id` ON `sessions` (`tenant_id`,`external_id`);--> statement-breakpoint
CREATE INDEX `sessions_created_at` ON `sessions` (`tenant_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `sessions_updated_at` ON `sessions` (`tenant_id`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `sessions_swept_at` ON `sessions` (`swept_at`);--> statement-breakpoint
CREATE TABLE `tenants` (
	`id` text PRIMARY KEY NOT NULL,
	`external_id` text,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`metadata` text NOT NULL,
	`settings` text NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_external_id` ON `tenants` (`external_id`);--> statement-breakpoint
CREATE INDEX `tenants_created_at` ON `tenants` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `usage_events` (
	`tenant_id` text NOT NULL,
	`session_id` text NOT NULL,
	`event_id` text NOT NULL,
	`seq` integer NOT NULL,
	`user_id` text,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`purpose` text NOT NULL,
	`status` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`recorded_at` integer NOT NULL,
	`list_nano` integer NOT NULL,
	`billed_nano` integer NOT NULL,
	`unpriced` integer NOT NULL,
	`event` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `session_id`, `event_id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_events_occurred_at` ON `usage_events` (`tenant_id`,`occurred_at`);--> statement-breakpoint
CREATE TABLE `usage_rollups` (
	`tenant_id` text NOT NULL,
	`bucket` integer NOT NULL,
	`session_id` text NOT NULL,
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`purpose` text NOT NULL,
	`class` text NOT NULL,
	`events` integer NOT NULL,
	`quantity` integer NOT NULL,
	`list_nano` integer NOT NULL,
	`billed_nano` integer NOT NULL,
	`unpriced_events` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `bucket`, `session_id`, `user_id`, `provider`, `model`, `purpose`, `class`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_rollups_bucket` ON `usage_rollups` (`bucket`);