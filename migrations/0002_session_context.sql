ALTER TABLE `sessions` ADD `blocks` text;--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`tenant_id`,`user_id`,`updated_at`);